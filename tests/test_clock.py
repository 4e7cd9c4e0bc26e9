"""The clock of a table: what happens when time runs out, for every ruleset, and what the audit
makes of it. Pure: the time is an argument."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest

from service import game as games
from service import rules, steps
from service.clock import ABSENCES
from service.game import Game
from service.log import canonical, entry_hash, jsonl
from service.replay import NotReplayable, audit, replay
from service.rules import RULESETS
from service.verify import verify_log
from tests.drawn_options import table as drawn
from tests.javascript import NEEDS_NODE, JavaScriptVerifier
from tests.played import Played, action

TURN_S = 30
EVERY = pytest.mark.parametrize("ruleset", RULESETS, ids=lambda one: one.key)
SEATED = {"starter": "seat"}


def table(
    key: str, seats: int = 2, options: Mapping[str, Any] = SEATED, turn_seconds: int | None = TURN_S
) -> Played:
    """A started game whose table has a clock."""
    made = Played.created(
        f"clock-{key}", rules.ruleset(key), seats, options, "operator", Random(7),
        turn_seconds=turn_seconds,
    )  # fmt: skip
    made.seat_all()
    made.start()
    return made


def entries(made: Played) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made.lines]


def late(made: Played) -> list[tuple[str, int | None]]:
    """What the clock has done, and for whom."""
    acted = [entry["data"] for entry in entries(made) if entry["type"] == "acted"]
    actions = [data["action"] for data in acted if data["seat"] is None]
    return [(one["kind"], one["seat"]) for one in actions if one.get("reason") == "clock"]


# --- what the table does ------------------------------------------------------------------------


def test_in_pig_the_clock_rolls_and_then_holds():
    made = table("pig", options={**SEATED, "target": 100})
    made.wait()
    assert late(made) == [("roll", 0)]
    while made.game.state.seat == 0:
        made.wait()
    rolled, *held = late(made)
    assert rolled == ("roll", 0)
    assert held in ([("hold", 0)], [])  # a bust ends the turn as well


def test_in_a_bet_the_starter_stakes_the_least_and_the_others_pass():
    made = table("dados-puercos", 3, {**SEATED, "mode": "turns"})
    made.wait()
    assert late(made) == [("bet", 0)]
    assert entries(made)[-1]["data"]["action"]["amount"] == 1
    made.wait()
    assert late(made)[1:] == [("pass", 1)]


def test_the_banker_sets_the_smallest_limit_and_every_bettor_passes_at_one_deadline():
    made = table("heaven-and-nine", 4)
    made.wait()
    assert late(made) == [("set_limit", 0)]
    assert made.game.state.limit == 1
    made.act(2, action("bet", amount=1))
    made.wait()
    assert late(made)[1:] == [("pass", 1), ("pass", 3)]
    made.wait()
    assert late(made)[3:] == [("roll", 0)]


def test_in_a_duel_the_table_throws_keeps_every_dice_and_breaks_ties():
    made = table("dice-duel", 3, {"format": {"first_to_win": 9}})
    while "tiebreak" not in dict(late(made)) and made.game.status == "playing":
        made.wait()
    assert late(made)[:4] == [("roll", None), ("hold", 0), ("hold", 1), ("hold", 2)]


def test_a_choice_that_was_made_stays_when_the_clock_resolves():
    made = table("dice-duel", 2, {"press": "anyone"})
    made.wait()
    made.act(0, action("reroll", mask=[True, False, True]))
    made.wait()
    made.wait()
    assert late(made) == [("roll", None), ("hold", 1), ("resolve", None)]
    resolved = entries(made)[-1]["data"]["events"][0]
    assert resolved["kind"] == "resolved"
    assert [len(throw["dice"]) for throw in entries(made)[-1]["data"]["throws"]] == [2]


def test_the_clock_resolves_for_a_host_who_does_not():
    made = table("dice-duel", 2, {"press": "host"})
    made.wait()
    for seat in (0, 1):
        made.act(seat, action("hold"))
    assert made.game.to_act() == ()
    made.wait()
    assert late(made) == [("roll", None), ("resolve", None)]


# --- deadlines ----------------------------------------------------------------------------------


def test_every_action_of_a_turn_has_its_own_time():
    made = table("pig")
    first = made.game.deadline
    assert first == made.game.at + TURN_S * 1000
    made.at += 20_000
    made.act(0, action("roll"))
    assert made.game.deadline == made.game.at + TURN_S * 1000


def test_who_decides_gives_the_others_no_further_time():
    made = table("dice-duel", 3, {})
    made.act(0, action("roll"))
    deadline = made.game.deadline
    for seat in (1, 0, 1):  # a choice may be changed
        made.at += 1_000
        made.act(seat, action("hold"))
        assert made.game.deadline == deadline
    made.act(2, action("hold"))
    assert made.game.deadline == made.game.at + TURN_S * 1000


def test_a_resignation_out_of_turn_gives_no_further_time():
    made = table("pig", 3)
    deadline = made.game.deadline
    made.act(2, action("resign"))
    assert made.game.deadline == deadline


def test_however_late_it_is_noticed_nobody_is_late_twice():
    made = table("pig")
    made.at += 10 * 24 * 3600 * 1000
    made.wait()
    assert len(late(made)) == 1
    assert made.game.deadline == made.game.at + TURN_S * 1000


def test_a_clock_that_runs_backwards_moves_no_deadline_back():
    made = table("pig")
    made.act(0, action("roll"))
    before = made.game
    made.at -= 3600 * 1000
    made.act(made.game.to_act()[0], action("roll"))
    assert (made.game.at, made.game.deadline) == (before.at, before.deadline)
    assert audit(made.lines) == made.game


def test_the_table_does_nothing_before_the_deadline():
    made = table("pig")
    assert made.game.deadline is not None
    with pytest.raises(ValueError, match="nobody is late"):
        steps.run_out(made.game, made.chain, made.game.deadline - 1)


def test_a_game_without_a_clock_waits_for_ever():
    made = table("pig", turn_seconds=None)
    made.act(0, action("roll"))
    assert made.game.deadline is None
    assert made.game.clock is None
    assert "turn_seconds" not in entries(made)[0]["data"]
    assert "clock" not in games.dump(made.game)


# --- absence ------------------------------------------------------------------------------------


def test_after_three_in_a_row_the_seat_resigns_at_once():
    made = table("pig", 3)
    turns = 0
    while ("resign", 0) not in late(made):
        if made.game.to_act() == (0,):
            made.wait()
            turns += 1
        else:
            made.act(made.game.to_act()[0], action("roll"))
    assert turns == ABSENCES == 3
    assert late(made)[-1] == ("resign", 0)
    assert made.game.status == "playing"
    assert made.game.to_act() != (0,)


def test_an_action_of_its_own_forgives_a_seat():
    options = {**SEATED, "end": {"rounds": 9}, "bank_passes": "never"}
    made = table("heaven-and-nine", 2, options)
    for number in range(8):
        made.act(0, action("set_limit", amount=1))
        if number % 3 < ABSENCES - 1:
            made.wait()
        else:
            made.act(1, action("pass"))
    assert late(made) == [("pass", 1)] * 6
    assert made.game.status == "playing"


@EVERY
def test_a_table_that_everybody_has_left_comes_to_its_end(ruleset):
    for seed in range(6):
        random = Random(seed)
        seats, options = drawn(ruleset, random)
        made = Played.created(
            f"left-{seed}", ruleset, seats, options, "practice", random, turn_seconds=TURN_S
        )
        made.seat_all()
        made.start()
        while made.game.status == "playing":
            made.wait()
        assert made.game.status == "finished"
        assert made.game.deadline is None
        assert audit(made.lines) == replay(made.lines) == made.game


@EVERY
def test_games_with_absent_seats_follow_from_their_logs(ruleset):
    for seed in range(8):
        random = Random(seed)
        seats, options = drawn(ruleset, random)
        made = Played.created(
            f"some-{seed}", ruleset, seats, options, "operator", random, turn_seconds=TURN_S
        )
        made.seat_all()
        made.start()
        while made.game.status == "playing" and len(made.lines) < 400:
            made.at += random.randrange(TURN_S * 500)
            due = made.game.deadline is not None and made.at >= made.game.deadline
            if due or random.random() < 0.3:
                made.wait()
            else:
                made.move()
        assert audit(made.lines) == replay(made.lines) == made.game
        assert games.load(made.game.id, made.game.setup, games.dump(made.game)) == made.game
        report = verify_log(jsonl(made.lines))
        assert report.ok, report.failure
        assert not [note for note in report.notes if "further field" in note]


@EVERY
def test_the_default_is_a_legal_action(ruleset):
    for seed in range(12):
        random = Random(seed)
        seats, options = drawn(ruleset, random)
        made = Played.created(f"legal-{seed}", ruleset, seats, options, "practice", random)
        made.seat_all()
        made.start()
        while made.game.status == "playing" and len(made.lines) < 200:
            state = made.game.state
            for seat in ruleset.clocked(state):
                default = ruleset.default_action(state, seat)
                offers = [one for one in made.game.legal() if seat in (None, one.seat)]
                assert any(one.admits(one.seat, default) for one in offers), (default, offers)
            made.move()


# --- what an audit finds ------------------------------------------------------------------------


def forged(lines: list[bytes], change: Callable[[list[Any]], None]) -> list[bytes]:
    """The log after a change of its entries, with numbers and hashes that fit again."""
    told = [json.loads(line) for line in lines]
    change(told)
    out: list[bytes] = []
    prev = "0" * 64
    for seq, entry in enumerate(told):
        out.append(canonical(entry | {"prev": prev, "seq": seq}))
        prev = entry_hash(out[-1]).hex()
    return out


def absent_game() -> tuple[Game, list[bytes]]:
    """Seat 1 is absent until the table resigns for it; the duel goes on between the others."""
    made = table("dice-duel", 3, {"format": {"first_to_win": 9}})
    while ("resign", 1) not in late(made):
        if made.game.state.phase != "choosing":
            made.act(0, action("roll" if made.game.state.phase == "rolling" else "tiebreak"))
        else:
            for seat in (0, 2):
                made.act(seat, action("hold"))
            made.wait()
    return made.game, made.lines


def first(told: list[Any], kind: str) -> Any:
    """The first entry of the clock with this kind of action."""
    return next(
        entry
        for entry in told
        if entry["type"] == "acted"
        and entry["data"]["action"]["kind"] == kind
        and "reason" in entry["data"]["action"]
    )


def too_early(told: list[Any]) -> None:
    first(told, "hold")["at"] -= 1


def another_seat(told: list[Any]) -> None:
    first(told, "hold")["data"]["action"]["seat"] = 2


def another_action(told: list[Any]) -> None:
    action = first(told, "hold")["data"]["action"]
    action |= {"kind": "reroll", "mask": [False] * 3}


def another_reason(told: list[Any]) -> None:
    first(told, "hold")["data"]["action"]["reason"] = "host"


def a_seat_that_is_no_number(told: list[Any]) -> None:
    first(told, "hold")["data"]["action"]["seat"] = True


def a_further_field(told: list[Any]) -> None:
    first(told, "hold")["data"]["action"]["deadline"] = 5


def somebody_else_resigns(told: list[Any]) -> None:
    resigned = first(told, "resign")["data"]
    resigned["action"]["seat"] = 2
    resigned["events"][0]["seat"] = 2


def resigned_too_soon(told: list[Any]) -> None:
    held = first(told, "hold")
    resigned = json.loads(json.dumps(first(told, "resign")))
    resigned["at"] = held["at"]
    place = told.index(held) + 1
    told[place:] = [resigned]


def a_table_without_clock(told: list[Any]) -> None:
    del told[0]["data"]["turn_seconds"]


def a_clock_that_no_table_has(told: list[Any]) -> None:
    told[0]["data"]["turn_seconds"] = 1


def a_late_action_that_was_taken(told: list[Any]) -> None:
    place = next(n for n, entry in enumerate(told) if entry["type"] == "acted")
    for entry in told[place:]:
        entry["at"] += TURN_S * 1000


FORGERIES = [
    too_early,
    another_seat,
    another_action,
    another_reason,
    a_seat_that_is_no_number,
    a_further_field,
    somebody_else_resigns,
    resigned_too_soon,
    a_table_without_clock,
    a_clock_that_no_table_has,
    a_late_action_that_was_taken,
]


def test_a_true_log_with_absences_passes():
    game, lines = absent_game()
    assert audit(lines) == game
    assert audit(forged(lines, lambda _: None)) == game


@pytest.mark.parametrize("change", FORGERIES)
def test_an_audit_refuses_a_forged_clock(change):
    _, lines = absent_game()
    with pytest.raises(NotReplayable):
        audit(forged(lines, change))


def resigning_game() -> list[bytes]:
    """Without throws after the absences begin, so that a forger has no key to know."""
    made = table("heaven-and-nine", 3, {**SEATED, "end": {"rounds": 9}, "bank_passes": "never"})
    while ("resign", 1) not in late(made):
        made.act(0, action("set_limit", amount=1))
        made.act(2, action("pass"))
        made.wait()
    return made.lines


def sooner(told: list[Any]) -> None:
    for entry in told:
        entry["at"] = min(entry["at"], told[0]["at"] + TURN_S * 1000 - 1)


def no_number(told: list[Any]) -> None:
    first(told, "pass")["data"]["action"]["seat"] = True


def somebody_else(told: list[Any]) -> None:
    first(told, "resign")["data"]["action"]["seat"] = 2


def too_soon(told: list[Any]) -> None:
    place = told.index(first(told, "pass"))
    told[place + 1 :] = [first(told, "resign")]


def nobody(told: list[Any]) -> None:
    del first(told, "pass")["data"]["action"]["seat"]


def stranger(told: list[Any]) -> None:
    first(told, "pass")["data"]["action"]["seat"] = 3


def no_clock(told: list[Any]) -> None:
    del told[0]["data"]["turn_seconds"]


def short_clock(told: list[Any]) -> None:
    told[0]["data"]["turn_seconds"] = 4


def clock_of_a_text(told: list[Any]) -> None:
    told[0]["data"]["turn_seconds"] = "30"


SEEN = {
    sooner: "clock",
    no_number: "clock",
    somebody_else: "clock",
    too_soon: "clock",
    nobody: "clock",
    stranger: "seat",
    no_clock: "clock",
    short_clock: "clock",
    clock_of_a_text: "fields",
}


@NEEDS_NODE
@pytest.mark.parametrize("change", SEEN)
def test_both_verifiers_refuse_a_forged_clock_without_the_rules(change):
    lines = resigning_game()
    assert verify_log(jsonl(lines)).ok
    data = jsonl(forged(lines, change))
    failure = verify_log(data).failure
    assert failure is not None
    assert failure.code == SEEN[change]
    with JavaScriptVerifier() as other:
        other.ask(data, {})
        assert other.answer()["failure"] == {
            "seq": failure.seq,
            "code": failure.code,
            "detail": failure.detail,
        }


def test_an_audit_misses_the_resignation_that_is_due():
    made = table("pig", 3)
    while ("resign", 0) not in late(made):
        if made.game.to_act() == (0,):
            made.wait()
        else:
            made.act(made.game.to_act()[0], action("roll"))
    made.act(made.game.to_act()[0], action("roll"))

    def change(told: list[Any]) -> None:
        told.remove(first(told, "resign"))

    with pytest.raises(NotReplayable, match="the clock does something else"):
        audit(forged(made.lines, change))
