"""OpenSpiel's pig, played as ours is: two seats, 100 points, a hold at 20.

    python -m bench.spiel SECONDS

Prints games, actions and throws of one process and the seconds that it was computing. It must find
the module `pyspiel`, which `bench.peers` installs.
"""

import importlib
import json
import sys
import time
from random import Random
from typing import Any

_ROLL, _HOLD = 0, 1


def play(game: Any, random: Random) -> tuple[int, int]:
    """One game: how many actions and throws."""
    state, total, actions, throws = game.new_initial_state(), 0, 0, 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcome, _ = state.chance_outcomes()[int(random.random() * 6)]
            total = 0 if outcome == 0 else total + outcome + 1
            throws += 1
            state.apply_action(outcome)
            continue
        asked = _HOLD if total >= 20 and _HOLD in state.legal_actions() else _ROLL
        if asked == _HOLD:
            total = 0
        actions += 1
        state.apply_action(asked)
    return actions, throws


def main() -> None:
    """Games for some time; the first one does not count."""
    game = importlib.import_module("pyspiel").load_game("pig(players=2,winscore=100)")
    random, games, actions, throws = Random(1), 0, 0, 0
    play(game, random)
    began = time.process_time()
    while (spent := time.process_time() - began) < float(sys.argv[1]):
        acted, thrown = play(game, random)
        games, actions, throws = games + 1, actions + acted, throws + thrown
    print(json.dumps({"games": games, "actions": actions, "throws": throws, "seconds": spent}))


if __name__ == "__main__":
    main()
