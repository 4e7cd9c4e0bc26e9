"""Some hundred games in one process that dies, fails and forgets; ``make simulator`` plays more."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from service import croupier, rules
from service.log import canonical, entry_hash
from service.store import Change, HostedGame, records
from service.store.batch import Batch
from service.store.change import Job
from soak import simulator
from soak.auditing import Stored, Told, faults
from soak.house import DEATHS, DIED, ERRORS

pytestmark = pytest.mark.filterwarnings(rf"ignore:Exception in thread[\s\S]*{DIED}")
GAMES, SEED = 210, 2026
QUICK = 14  # games that find a planted bug


def test_hundreds_of_games_survive_deaths_errors_and_lost_answers():
    tally = simulator.simulate(GAMES, SEED)
    assert tally.games.total() >= GAMES
    assert set(tally.games) == {ruleset.key for ruleset in rules.RULESETS}
    assert all(tally.done[f"fault: {kind}"] for kind in (*DEATHS, *ERRORS))
    assert all(
        tally.done[what]
        for what in ("answers lost", "answers repeated", "clock jumps", "refused: stale_version")
    )
    assert f"(seed {SEED})" in list(simulator.told(tally, SEED, 1.0))[-1]


def test_a_seed_is_a_schedule():
    once, again = (simulator.simulate(QUICK, SEED) for _ in range(2))
    assert once == again


# --- it must be able to fail --------------------------------------------------------------------


def forget_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Batch._note

    def note(self: Batch, job: Job, change: Change) -> None:
        plain(self, replace(job, retry=None), change)

    monkeypatch.setattr(Batch, "_note", note)


def lose_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot moves, the log does not."""
    plain = records.entry_rows

    def entry_rows(hosted: HostedGame, lines: Any) -> Any:
        return plain(hosted, lines)[: -1 if hosted.game.version % 16 == 15 else None]

    monkeypatch.setattr(records, "entry_rows", entry_rows)


def forget_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(croupier, "_require_version", lambda *_: None)


@pytest.mark.parametrize("plant", [forget_answers, lose_a_move, forget_versions])
def test_a_planted_bug_is_found_and_its_seed_told(plant, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=f"--games {QUICK} --seed {SEED} --first 0: "):
        simulator.simulate(QUICK, SEED)


# --- the judge ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A game as the judge was shown it."""

    stored: Stored
    told: list[Told]
    root: bytes
    keys: Sequence[bytes]

    def faults(self) -> list[str]:
        return faults(self.stored, self.told, self.root, self.keys)

    def with_line(self, seq: int, change: Callable[[dict[str, Any]], None]) -> "Case":
        """Another entry in the place of one, and all after it chained to it again."""
        lines, prev = list(self.stored.lines), None
        for number in range(seq, len(lines)):
            entry = json.loads(lines[number])
            if number == seq:
                change(entry["data"])
            elif prev is not None:
                entry["prev"] = prev
            lines[number] = canonical(entry)
            prev = entry_hash(lines[number]).hex()
        return self.with_lines(lines)

    def with_lines(self, lines: Sequence[bytes]) -> "Case":
        return replace(self, stored=replace(self.stored, lines=lines))

    def with_answer(self, change: Callable[[dict[str, Any]], None]) -> "Case":
        """Another answer to the last action."""
        answer = json.loads(self.told[-1].body)
        change(answer)
        last = replace(self.told[-1], body=json.dumps(answer).encode())
        return replace(self, told=[*self.told[:-1], last])


@pytest.fixture(scope="module")
def case() -> Case:
    """A finished game with throws."""
    shown = list[Case]()

    def seen(*arguments: Any) -> list[str]:
        shown.append(Case(*arguments))
        return []

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(simulator, "faults", seen)
        simulator.simulate(QUICK, SEED)
    return next(
        one
        for one in shown
        if one.stored.game.status == "finished"
        and one.stored.game.throws > 3
        and all(told.adds for told in one.told)
    )


def thrown(case: Case) -> int:
    """The seq of an entry with a throw."""
    return next(
        seq for seq, line in enumerate(case.stored.lines) if json.loads(line)["data"].get("throws")
    )


def spoiled_face(data: dict[str, Any]) -> None:
    shown = data["throws"][0]["faces"]
    shown[0] = 6 if shown[0] != 6 else 5


def stranger(answer: dict[str, Any]) -> None:
    answer["receipt"]["sig"] = answer["receipt"]["sig"][::-1]


def another_head(answer: dict[str, Any]) -> None:
    answer["receipt"]["head"] = "0" * 64


def later(answer: dict[str, Any]) -> None:
    answer["game"]["version"] += 1


def another_entry(answer: dict[str, Any]) -> None:
    answer["entry"]["at"] += 1


def without(case: Case, *seqs: int) -> Case:
    """The log without some of its lines."""
    count = len(case.stored.lines)
    left = set(range(count)) - {seq % count for seq in seqs}
    return case.with_lines([case.stored.lines[seq] for seq in sorted(left)])


def retold(case: Case, told: list[Told]) -> Case:
    return replace(case, told=told)


TAMPERED: Mapping[str, Callable[[Case], Case]] = {
    "a lost entry": lambda case: without(case, -1),
    "lost entries": lambda case: without(case, -1, -2),
    "a gap": lambda case: without(case, 3),
    "an entry twice": lambda case: case.with_lines([*case.stored.lines, case.stored.lines[-1]]),
    "an action that nobody was told of": lambda case: retold(
        case, [*case.told[:-2], case.told[-1]]
    ),
    "an action that two were told of": lambda case: retold(
        case, [*case.told, replace(case.told[-1], key="another")]
    ),
    "another face": lambda case: case.with_line(thrown(case), spoiled_face),
    "another root": lambda case: replace(case, root=bytes(32)),
    "another snapshot": lambda case: replace(
        case, stored=replace(case.stored, game=replace(case.stored.game, throws=0))
    ),
    "a line that is none": lambda case: case.with_lines([*case.stored.lines[:-1], b"{}"]),
    "another key": lambda case: replace(case, keys=[bytes(32)]),
    "another signature": lambda case: case.with_answer(stranger),
    "another head": lambda case: case.with_answer(another_head),
    "a later version": lambda case: case.with_answer(later),
    "another answer": lambda case: case.with_answer(another_entry),
}


def test_the_judge_finds_nothing_wrong_with_a_game_as_it_was(case):
    assert case.faults() == []


@pytest.mark.parametrize("how", TAMPERED)
def test_the_judge_finds(case, how):
    assert TAMPERED[how](case).faults()
