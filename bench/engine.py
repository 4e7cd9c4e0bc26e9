"""The engine by itself: games by the real rules without a server, and the audit of logs.

python -m bench.engine [--long]
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, Final, TypeAlias

from bench.filled import pig
from bench.measure import Form, run
from bench.table import Goal, Table, goals, number
from service import rules, steps, verify
from service.dice import Cup, Dice, Die, Face, KeyChain, faces, previous_key
from service.game import Player
from service.log import jsonl
from service.rules.base import (
    Action,
    Bet,
    Hold,
    LegalAction,
    Pass,
    Reroll,
    Resolve,
    Roll,
    Ruleset,
    SetLimit,
    Tiebreak,
)

Rules: TypeAlias = Ruleset[Any, Any, Any]
_SEED: Final = 20_261_130
_CONTEXT: Final = bytes(range(32))
_SIMPLE: Final[dict[str, Action]] = {
    "roll": Roll(kind="roll"),
    "hold": Hold(kind="hold"),
    "pass": Pass(kind="pass"),
    "tiebreak": Tiebreak(kind="tiebreak"),
    "resolve": Resolve(kind="resolve"),
}
_MASKS: Final = {
    dice: [Reroll(kind="reroll", mask=mask) for mask in product((False, True), repeat=dice)]
    for dice in range(1, 6)
}
_AUDITED: Final = 50_000  # throws of the log that is audited, again and again


class PlainDice:
    """Throws from a plain generator, in the place of keys."""

    def __init__(self, random: Random, dice: Mapping[str, Die]) -> None:
        self._random = random.random
        self._dice = {name: (die, sum(die.weights)) for name, die in dice.items()}
        self.throws = 0

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        self.throws += 1
        thrown = (self._dice[name] for name in dice)
        return tuple(die.face_of(int(self._random() * total)) for die, total in thrown)


@dataclass
class Count:
    """What was simulated, and in which time."""

    games: int = 0
    actions: int = 0
    throws: int = 0
    seconds: float = 0.0


# --- players ------------------------------------------------------------------------------------


def choose(legal: Sequence[LegalAction], state: Any, random: Random) -> tuple[int | None, Action]:
    """A player of some sense where there is a turn total to hold at, of none elsewhere."""
    if len(legal) == 2 and legal[1].kind == "hold":
        one = legal[1 if state.turn_total >= 20 else 0]
    else:
        one = legal[int(random.random() * len(legal))]
    return one.seat, _filled(one, random)


def _filled(legal: LegalAction, random: Random) -> Action:
    if legal.dice is not None:
        masks = _MASKS[legal.dice]
        return masks[int(random.random() * len(masks))]
    if legal.min is None:
        return _SIMPLE[legal.kind]
    if legal.kind == "bet":
        return Bet(kind="bet", amount=legal.min)
    return SetLimit(kind="set_limit", amount=legal.min)


# --- ways to play -------------------------------------------------------------------------------


def plain(ruleset: Rules, random: Random, count: Count) -> None:
    """One game by ``legal``, ``play`` and ``outcome``, with plain dice."""
    options, seats = _usual(ruleset)
    dice = PlainDice(random, ruleset.dice(options, seats))
    _play(ruleset, options, seats, random, count, dice)
    count.throws += dice.throws


def keyed(ruleset: Rules, random: Random, count: Count) -> None:
    """The same with a key chain, made anew for every game."""
    options, seats = _usual(ruleset)
    chain = KeyChain(random.randbytes(32), ruleset.throws_max(options, seats))
    cup = Cup(chain, _CONTEXT, 0, ruleset.dice(options, seats))
    _play(ruleset, options, seats, random, count, cup)
    count.throws += len(cup.throws)


def _play(
    ruleset: Rules, options: Any, seats: int, random: Random, count: Count, dice: Dice
) -> None:
    state = ruleset.start(options, seats)
    opening: Action | None = ruleset.opening(state)
    asked = None if opening is None else (None, opening)
    while ruleset.outcome(state) is None:
        seat, action = asked or choose(ruleset.legal(state), state, random)
        _, state = ruleset.play(state, seat, action, dice)
        count.actions += 1
        asked = None
    count.games += 1


def logged(ruleset: Rules, random: Random, count: Count) -> None:
    """The steps of a game as the server makes them: checked, with keys, lines and hashes."""
    options, seats = _usual(ruleset)
    chain = KeyChain(random.randbytes(32), ruleset.throws_max(options, seats))
    step = steps.create("bench", ruleset, options, seats, "practice", chain, 0)
    for seat in range(seats):
        step = steps.join(step.game, seat, Player("human", None), 0)
    step = steps.start(step.game, chain, 0)
    while step.game.status == "playing":
        asked = choose(step.game.legal(), step.game.state, random)
        step = steps.act(step.game, *asked, chain, 0)
        count.actions += 1
    count.games += 1
    count.throws += step.game.throws


def _usual(ruleset: Rules) -> tuple[Any, int]:
    """The first example that the catalogue shows."""
    example = ruleset.examples[0]
    return ruleset.parse_options(example.options, example.seats), example.seats


def simulated(ruleset: Rules, way: Callable[[Rules, Random, Count], None], seconds: float) -> Count:
    """Games for some time; the first ones don't count."""
    random, count = Random(_SEED), Count()
    way(ruleset, random, count)
    count = Count()
    began = time.process_time()
    while count.seconds < seconds:
        way(ruleset, random, count)
        count.seconds = time.process_time() - began
    return count


# --- the audit ----------------------------------------------------------------------------------


def whole_audit(log: bytes) -> int:
    """Everything that the verifier checks; how many throws."""
    report = verify.verify_log(log)
    if not report.ok:
        raise AssertionError(report.verdict())
    return report.throws


def throws_of(entries: Sequence[Any]) -> list[Any]:
    """The throws of a log, in order."""
    return [throw for one in entries if one["type"] == "acted" for throw in one["data"]["throws"]]


def keys_and_faces(log: bytes) -> Callable[[], int]:
    """The plain check of each throw: its key leads to the key before, its faces follow from it."""
    entries = [json.loads(line) for line in log.splitlines()]
    created = entries[0]["data"]
    bound = next(bytes.fromhex(one["data"]["context"]) for one in entries if one["seq"] == 3)
    dice = {
        name: Die(tuple(d["faces"]), tuple(d["weights"])) for name, d in created["dice"].items()
    }
    throws = [
        (
            throw["throw"],
            bytes.fromhex(throw["key"]),
            [dice[name] for name in throw["dice"]],
            tuple(throw["faces"]),
        )
        for throw in throws_of(entries)
    ]

    def check() -> int:
        before = bytes.fromhex(created["commitment"])
        for index, key, thrown, shown in throws:
            if previous_key(index, key) != before or faces(key, bound, index, thrown) != shown:
                raise AssertionError(f"throw {index}")
            before = key
        return len(throws)

    return check


def throws_alone(log: bytes) -> Callable[[], int]:
    """What the offline verifier does for each throw, without the lines around them."""
    entries = [json.loads(line) for line in log.splitlines()]
    throws = throws_of(entries)

    def check() -> int:
        state = verify._Log()
        for entry in entries[:4]:
            # The root is public in a practice game, and its check walks the whole chain.
            hidden = {"seed_mode": "operator", "root": None} if entry["seq"] == 0 else {}
            state.game = entry["game"]
            getattr(state, entry["type"])({**entry["data"], **hidden})
        for throw in throws:
            state.throw(throw)
        return state.throws

    return check


def audited(check: Callable[[], int], throws: int) -> Count:
    """As often as it takes to have checked so many throws."""
    count = Count()
    began = time.process_time()
    while count.throws < throws:
        count.throws += check()
    count.seconds = time.process_time() - began
    return count


# --- tables -------------------------------------------------------------------------------------


def tables(form: Form) -> Iterator[Table]:
    """Simulation of every ruleset, the audit, the goals."""
    ways = (plain, keyed, logged)
    found = {
        ruleset.key: [simulated(ruleset, way, form.seconds) for way in ways]
        for ruleset in rules.RULESETS
    }
    yield Table(
        "Engine: simulation in one process",
        (
            "ruleset",
            "games/s",
            "actions/s",
            "throws/s",
            "with keys: actions/s",
            "throws/s",
            "with log: actions/s",
        ),
        [
            [
                key,
                number(bare.games / bare.seconds),
                number(bare.actions / bare.seconds),
                number(bare.throws / bare.seconds),
                number(chained.actions / chained.seconds),
                number(chained.throws / chained.seconds),
                number(whole.actions / whole.seconds),
            ]
            for key, (bare, chained, whole) in found.items()
        ],
        [
            "The first example of the catalogue of each ruleset; a hold at 20 where there is a"
            " turn total, random actions elsewhere. Plain dice, then the key chain (made for every"
            " game), then the whole step of the server with canonical lines and hashes. Seconds"
            " are those of computing in this one process."
        ],
    )
    log = jsonl(pig(_AUDITED, 10_000, "none").lines)
    checks = (keys_and_faces(log), throws_alone(log), lambda: whole_audit(log))
    plainly, alone, whole = (audited(check, form.throws) for check in checks)
    rows = [
        ("keys and faces", plainly),
        ("a throw, as the offline verifier checks it", alone),
        ("the whole audit, offline", whole),
    ]
    yield Table(
        f"Engine: audit of {form.throws:,} throws",
        ("what is checked", "throws/s", "seconds"),
        [[name, number(one.throws / one.seconds), f"{one.seconds:.1f}"] for name, one in rows],
        [
            f"A log of Pig with one throw in an entry and {len(log) // _AUDITED} bytes in a line."
            " The whole audit parses and renders every line and hashes it, too."
        ],
    )
    big_pig = found["big-pig"][0]
    acted, thrown = big_pig.actions / big_pig.seconds, plainly.throws / plainly.seconds
    yield goals(
        "Engine",
        [
            Goal("Big Pig, simulated actions/s / 100,000", acted / 100_000, 1),
            Goal("keys and faces, throws/s / 300,000", thrown / 300_000, 1),
        ],
    )


if __name__ == "__main__":
    run(tables)
