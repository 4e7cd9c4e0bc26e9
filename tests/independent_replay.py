"""An ended game played again from its root: the verifier's dice under the bare rules.

Neither the fold nor the steps of the server have a part in it, so that a fault of theirs shows.
"""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from service import rules, verify
from service.dice import Face
from service.rules.base import Action, SeatAction, TableAction

ACTIONS: TypeAdapter[Action] = TypeAdapter(SeatAction | TableAction)


class RootDice:
    """The dice of an ended game, from its root alone and with the verifier's arithmetic."""

    def __init__(self, entries: Sequence[dict[str, Any]]) -> None:
        setup, ended = entries[0]["data"], entries[-1]["data"]
        self.thrown: list[dict[str, Any]] = []
        self._dice = {
            name: verify.Die(die["faces"], die["weights"]) for name, die in setup["dice"].items()
        }
        self._keys = [bytes.fromhex(ended["root"])]
        for number in range(setup["throws_max"], 0, -1):
            self._keys.append(verify.chain_key(number, self._keys[-1]))
        self._keys.reverse()
        assert self._keys[0].hex() == setup["commitment"]
        seeds = {
            entry["data"]["seat"]: bytes.fromhex(entry["data"]["seed"])
            for entry in entries
            if entry["type"] in ("joined", "seed_revealed") and entry["data"]["seed"]
        }
        self._context = verify.game_context(entries[0]["game"], self._keys[0], seeds)

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        number = len(self.thrown) + 1
        key = self._keys[number]
        prefix = verify.throw_prefix(self._context, number)
        faces: list[Face] = []
        for place, name in enumerate(dice):
            die = self._dice[name]
            faces.append(die.face(die.number(verify.die_words(key, prefix, place))))
        self.thrown.append(
            {
                "throw": number,
                "seat": seat,
                "dice": list(dice),
                "faces": faces,
                "key": key.hex(),
            }
        )
        return tuple(faces)


def played_again(lines: Sequence[bytes]) -> Any:
    """The last state of a game whose actions the rules decide once more.

    Every throw, event and outcome must be what the log says.
    """
    entries = [json.loads(line) for line in lines]
    setup = entries[0]["data"]
    ruleset = rules.ruleset(setup["ruleset"]["key"], setup["ruleset"]["version"])
    dice, state = RootDice(entries), None
    for entry in entries:
        data = entry["data"]
        if entry["type"] == "started":
            state = ruleset.start(ruleset.load_options(setup["options"]), setup["seats"])
        elif entry["type"] == "acted":
            before = len(dice.thrown)
            asked = ACTIONS.validate_json(json.dumps(data["action"]))
            events = list(ruleset.decide(state, data["seat"], asked, dice))
            assert dice.thrown[before:] == data["throws"]
            told = [event.model_dump(mode="json", exclude_none=True) for event in events]
            assert told == data["events"]
            for event in events:
                state = ruleset.apply(state, event)
        elif entry["type"] == "finished":
            outcome = ruleset.outcome(state) or ruleset.exhausted(state)
            assert outcome.to_json() == data["outcome"]
    return state
