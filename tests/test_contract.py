"""What every ruleset of the registry must keep to, whatever its options, actions and faces."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from service import rules
from service.dice import THROWS_LIMIT, Die, Face
from service.errors import RulesetNotFound
from service.log import canonical
from service.rules.base import Action, LegalAction, Outcome, Ruleset, SeatAction
from service.schema import fields_of
from service.steps import event_json
from tests.drawn_options import table

Rules: TypeAlias = Ruleset[Any, Any, Any]

ACTIONS: TypeAdapter[Action] = TypeAdapter(SeatAction)
every_ruleset = pytest.mark.parametrize("ruleset", rules.RULESETS, ids=lambda rules: rules.key)
playout = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
randoms = st.randoms(use_true_random=True)  # a seeded generator; a failure prints its seed


class Chance:
    """Throws every die of the game by its weights."""

    def __init__(self, dice: Mapping[str, Die], random: Random) -> None:
        self._dice = dice
        self._random = random

    def throw(self, seat: int | None, dice: Sequence[str]) -> tuple[Face, ...]:
        named = [self._dice[name] for name in dice]
        return tuple(self._random.choices(die.faces, die.weights)[0] for die in named)


class Game:
    """A game that checks the contract after every action."""

    def __init__(self, ruleset: Rules, seats: int, raw: dict[str, Any], random: Random) -> None:
        self.ruleset = ruleset
        self.seats = seats
        self.random = random
        self.options = ruleset.parse_options(raw, seats)
        self.chance = Chance(ruleset.dice(self.options, seats), random)
        self.views = TypeAdapter(ruleset.view_type)
        self.state = ruleset.start(self.options, seats)
        self.chips = ruleset.chips_in_play(self.state)
        opening = ruleset.opening(self.state)
        if opening is not None:
            assert not ruleset.legal(self.state)
            self.decide(None, opening)
        self.check()

    def decide(self, seat: int | None, action: Action) -> None:
        """One legal action: it and its events survive the log, and their fold is the next
        state."""
        assert canonical(fields_of(action)) == canonical(action.model_dump(mode="json"))
        for event in list(self.ruleset.decide(self.state, seat, action, self.chance)):
            whole = event.model_dump(mode="json", exclude_none=True)
            assert canonical(event_json(event)) == canonical(whole)
            assert type(event) in self.ruleset.events
            data = json.loads(event.model_dump_json())
            assert self.ruleset.parse_event(data) == event
            self.state = self.ruleset.apply(self.state, event)

    def act(self, seat: int | None, action: Action) -> None:
        self.decide(seat, action)
        self.check()

    def check(self) -> None:
        ruleset, state = self.ruleset, self.state
        legal, outcome = ruleset.legal(state), ruleset.outcome(state)
        assert (outcome is None) == bool(legal)
        assert set(ruleset.to_act(state)) <= {action.seat for action in legal}
        waits_for_host = any(listed.seat is None for listed in legal)
        assert bool(legal) == (bool(ruleset.to_act(state)) or waits_for_host)
        assert ruleset.chips_in_play(state) == self.chips
        assert ruleset.load(json.loads(json.dumps(ruleset.dump(state)))) == state
        self.views.validate_json(json.dumps(ruleset.view(state)), strict=True, extra="forbid")
        assert ruleset.phase(state) in ruleset.phases
        self.check_refusals(legal)
        if outcome is not None:
            self.check_outcome(outcome)
        exhausted = ruleset.exhausted(state)
        assert exhausted.reason == "throws_exhausted"
        self.check_outcome(exhausted)

    def check_refusals(self, legal: tuple[LegalAction, ...]) -> None:
        """What is not listed is refused, with a reason."""
        for seat in self.ruleset.to_act(self.state):
            for action in self.guesses(seat, legal):
                if not any(listed.admits(seat, action) for listed in legal):
                    reason = self.ruleset.refusal(self.state, seat, action)
                    assert reason in self.ruleset.reasons

    def guesses(self, seat: int | None, legal: tuple[LegalAction, ...]) -> list[Action]:
        """Every kind that a seat can ask for, and amounts and masks just beyond those listed."""
        own = [listed for listed in legal if listed.seat == seat]
        amounts = {0, 1} | {edge + 1 for listed in own if (edge := listed.max) is not None}
        amounts |= {edge - 1 for listed in own if listed.min and (edge := listed.min)}
        raw: list[dict[str, Any]] = [{"kind": kind} for kind in ("roll", "hold", "pass")]
        raw += [{"kind": "tiebreak"}, {"kind": "resolve"}]
        raw += [{"kind": "bet", "amount": amount} for amount in amounts]
        raw += [{"kind": "set_limit", "amount": amount} for amount in amounts]
        raw += [{"kind": "reroll", "mask": [True] * dice} for dice in (1, 5)]
        return [ACTIONS.validate_json(json.dumps(guess)) for guess in raw]

    def check_outcome(self, outcome: Outcome) -> None:
        assert outcome.winners
        assert sorted(outcome.winners + outcome.losers) == list(range(self.seats))
        for figures in (outcome.scores, outcome.chips):
            assert figures is None or len(figures) == self.seats
        assert (outcome.chips is None) == (self.chips is None)
        if outcome.chips is not None:
            assert sum(outcome.chips) == self.chips
        if self.ruleset.outcome(self.state) is not None:
            assert not any(self.ruleset.can_resign(self.state, s) for s in range(self.seats))

    def filled(self, listed: LegalAction) -> Action:
        """A listed action with parameters within its bounds."""
        raw: dict[str, Any] = {"kind": listed.kind}
        if listed.min is not None and listed.max is not None:
            among = [listed.min, listed.max, self.random.randint(listed.min, listed.max)]
            raw["amount"] = self.random.choice(among)
        if listed.dice is not None:
            raw["mask"] = [self.random.random() < 0.5 for _ in range(listed.dice)]
        action = ACTIONS.validate_json(json.dumps(raw))
        assert listed.admits(listed.seat, action)
        return action

    def step(self) -> None:
        """Any listed action; a seat that may hold does so more often than not."""
        legal = self.ruleset.legal(self.state)
        holds = [listed for listed in legal if listed.kind == "hold"]
        listed = self.random.choice(holds if holds and self.random.random() < 0.5 else legal)
        self.act(listed.seat, self.filled(listed))

    def resign(self) -> None:
        able = [seat for seat in range(self.seats) if self.ruleset.can_resign(self.state, seat)]
        self.act(self.random.choice(able), ACTIONS.validate_python({"kind": "resign"}))


@every_ruleset
@playout
@given(random=randoms)
def test_games_keep_the_contract_and_end(ruleset: Rules, random: Random) -> None:
    seats, raw = table(ruleset, random)
    game = Game(ruleset, seats, raw, random)
    for _ in range(ruleset.throws_max(game.options, seats)):
        if ruleset.outcome(game.state) is not None:
            return
        game.step()
    pytest.fail("the game did not end")


@every_ruleset
@playout
@given(data=st.data(), random=randoms)
def test_seats_may_resign_at_any_moment(
    ruleset: Rules, data: st.DataObject, random: Random
) -> None:
    seats, raw = table(ruleset, random)
    game = Game(ruleset, seats, raw, random)
    for before in data.draw(st.lists(st.integers(0, 20), max_size=seats)):
        for _ in range(before):
            if ruleset.outcome(game.state) is None:
                game.step()
        if ruleset.outcome(game.state) is None:
            game.resign()


@every_ruleset
def test_defaults_are_complete_options(ruleset: Rules) -> None:
    for seats in (ruleset.min_seats, ruleset.max_seats):
        options = ruleset.parse_options({}, seats)
        dumped = options.model_dump(mode="json")
        assert ruleset.parse_options(dumped, seats) == options
        assert ruleset.load_options(dumped) == options
        assert 1 <= ruleset.throws_max(options, seats) <= THROWS_LIMIT


@every_ruleset
def test_options_are_titled_and_described(ruleset: Rules) -> None:
    schema = ruleset.options_schema()
    models = [schema, *schema.get("$defs", {}).values()]
    fields = [field for model in models for field in model.get("properties", {}).values()]
    assert fields
    assert all(field.get("title") and field.get("description") for field in fields)


@every_ruleset
def test_events_and_actions_are_described(ruleset: Rules) -> None:
    kinds = [event.model_fields["kind"].default for event in ruleset.events]
    assert len(set(kinds)) == len(kinds)
    assert all(event.__doc__ for event in ruleset.events)
    assert all(action.__doc__ for action in ruleset.actions)
    assert ruleset.title.es
    assert ruleset.title.en
    assert ruleset.summary.es != ruleset.summary.en


def test_keys_and_versions_name_one_ruleset_each() -> None:
    names = [(ruleset.key, ruleset.version) for ruleset in rules.RULESETS]
    assert len(set(names)) == len(names)
    for ruleset in rules.RULESETS:
        assert rules.ruleset(ruleset.key, ruleset.version) is ruleset
        assert rules.ruleset(ruleset.key).version >= ruleset.version


@pytest.mark.parametrize(("key", "version"), [("no-such-game", None), ("pig", 99)])
def test_a_ruleset_that_is_not_there_is_not_found(key: str, version: int | None) -> None:
    with pytest.raises(RulesetNotFound):
        rules.ruleset(key, version)
