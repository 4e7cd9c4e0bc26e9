"""What the jeopardy dice games share: turns in which a bust loses what is not banked yet. Pure.

A family says what a throw is worth (``judge``) and which options it has. Who starts, whose turn
it is, the last round, playoffs and resignations stand here. The clauses cited below are those of
``docs/rules/pig.md``, ``two-dice-pig.md``, ``big-pig.md`` and ``dados-puercos.md``.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, cast

from service.dice import D6, THROWS_LIMIT, Dice, Die, Face, even_die
from service.rules.base import (
    Action,
    DrawStarter,
    Event,
    Hold,
    LegalAction,
    Outcome,
    Reason,
    Resign,
    Resigned,
    Roll,
    RollOff,
    Ruleset,
)
from service.rules.jeopardy_state import (
    EVENTS,
    FOLDS,
    Course,
    Fold,
    GameWon,
    JeopardyView,
    LastRoundStarted,
    Opts,
    PlayoffStarted,
    RolledOff,
    S,
    ScoreLost,
    StarterChosen,
    State,
    banked,
    best,
    busted,
    contenders,
    playoff_decided,
    rolled,
    still_in,
    turn_started,
)
from service.schema import Model

THROWS_LEAST: Final = 1_024
REASONS: Final = (
    "must_roll",  # a double forbids holding
    "nothing_rolled",  # a hold before the first throw of the turn
    "must_bet",  # the starter of a bet cannot pass
    "cannot_pay",  # the seat has fewer chips than the bet
    "below_minimum",  # an amount below what is asked
    "above_maximum",  # an amount above what is asked or held
    "not_in_phase",  # the game waits for another kind of action
    "not_in_ruleset",  # no phase of this game knows the action
)


class Verdict(NamedTuple):
    """What a throw is worth: points for the turn total, whether it ends the turn, whether it
    forces another throw (a double), and what else it costs."""

    points: int = 0
    ends: Literal["bust", "bank"] | None = None
    forces: bool = False
    costs: Literal["score", "seat", "bet"] | None = None


BUST: Final = Verdict(ends="bust")
BUST_AND_SCORE: Final = Verdict(ends="bust", costs="score")


@cache
def turn_actions(seat: int, may_hold: bool) -> tuple[LegalAction, ...]:
    """What the seat whose turn it is may do."""
    roll = LegalAction(seat, "roll")
    return (roll, LegalAction(seat, "hold")) if may_hold else (roll,)


class Jeopardy(Ruleset[Opts, S, Event], Generic[Opts, S]):
    """The rules that the jeopardy games share; every rule is one method."""

    actions: ClassVar[tuple[type[Model], ...]] = (Roll, Hold, Resign)
    phases: ClassVar[tuple[str, ...]] = ("playing",)
    reasons: ClassVar[tuple[str, ...]] = ("nothing_rolled", "not_in_phase", "not_in_ruleset")
    view_type = JeopardyView
    folds: ClassVar[Mapping[str, Fold]] = FOLDS
    die_name: ClassVar[str] = "d6"
    die: ClassVar[Die] = D6

    # -- what a family says ----------------------------------------------------------------------

    @abstractmethod
    def judge(self, options: Opts, faces: tuple[Any, ...]) -> Verdict:
        """What a throw is worth."""

    def roll_off_sum(self, options: Opts, faces: tuple[Any, ...]) -> int:
        """What a throw counts in the roll-off."""
        return sum(faces)

    @abstractmethod
    def dice_in_turn(self, state: S) -> int:
        """How many dice are thrown at once."""

    @abstractmethod
    def target(self, options: Opts) -> int | None:
        """The score to reach, or None where there is none."""

    def finish(self, options: Opts) -> str:
        """What happens when a seat has banked the target."""
        return "at_once"

    def final_tie(self, options: Opts) -> str:
        """What decides among seats tied after the last round."""
        return "playoff"

    def all_roll_off_again(self, options: Opts) -> bool:
        """Whether a tie in the roll-off makes all seats throw again, not only those tied."""
        return False

    def must_roll(self, state: S, verdict: Verdict) -> bool:
        """Whether holding is forbidden after this throw."""
        return verdict.forces

    def bust_events(self, state: S, lost: int) -> tuple[Event, ...]:
        """How a bust is told."""
        return (busted(state.seat, lost),)

    # -- the game --------------------------------------------------------------------------------

    def dice(self, options: Opts, seats: int) -> Mapping[str, Die]:
        """The die ``seat`` has a face for each seat, and is thrown by ``starter: random`` only."""
        drawn = cast(Any, options).starter == "random"
        own = {self.die_name: self.die}
        return {**own, "seat": even_die(seats)} if drawn else own

    def throws_max(self, options: Opts, seats: int) -> int:
        """About ten times what players of any sense need to reach the target."""
        return min(max(THROWS_LEAST, 8 * (self.target(options) or 0) * seats), THROWS_LIMIT)

    def opening(self, state: S) -> RollOff | DrawStarter | None:
        if state.round:
            return None
        if state.options.starter == "roll":
            return RollOff(kind="roll_off")
        return DrawStarter(kind="draw_starter")

    def legal(self, state: S) -> tuple[LegalAction, ...]:
        if state.reason is not None or not state.round:
            return ()
        return turn_actions(state.seat, self.hold_refusal(state) is None)

    def to_act(self, state: S) -> tuple[int, ...]:
        return () if state.reason is not None or not state.round else (state.seat,)

    def can_resign(self, state: S, seat: int) -> bool:
        return state.reason is None and seat not in state.out

    def refusal(self, state: S, seat: int | None, action: Action) -> str:
        """One of ``REASONS``."""
        if type(action) not in self.actions:
            return "not_in_ruleset"
        held = self.hold_refusal(state) if action.kind == "hold" else None
        return held or "not_in_phase"

    def hold_refusal(self, state: S) -> str | None:
        """Holding: not while a double forces a throw, and not before the first throw of the turn
        (unless ``hold_before_roll``)."""
        if state.must_roll:
            return "must_roll"
        if not state.rolls and not state.options.hold_before_roll:
            return "nothing_rolled"
        return None

    def decide(self, state: S, seat: int | None, action: Action, dice: Dice) -> Iterator[Event]:
        return iter(self.play(state, seat, action, dice)[0])

    def play(
        self, state: S, seat: int | None, action: Action, dice: Dice
    ) -> tuple[tuple[Event, ...], S]:
        course = Course(self.apply, state)
        self.act(course, seat, action, dice)
        return tuple(course.events), course.state

    def apply(self, state: S, event: Event) -> S:
        folded: S = self.folds[event.kind](state, event)
        return folded

    def act(self, course: Course[S], seat: int | None, action: Action, dice: Dice) -> None:
        """Decide one legal action."""
        if action.kind == "roll":
            self.roll(course, dice)
        elif action.kind == "hold":
            self.bank(course)
        elif action.kind == "resign" and seat is not None:
            self.resign(course, seat)
        elif action.kind == "roll_off":
            self.roll_off(course, dice)
        elif action.kind == "draw_starter":
            (drawn,) = dice.throw(None, ("seat",))
            self.choose_starter(course, cast(int, drawn))

    # -- who starts ------------------------------------------------------------------------------

    def roll_off(self, course: Course[S], dice: Dice) -> None:
        """Roll-off: all dice of the first turn, the highest sum starts; only those tied for it
        throw again (Big Pig: all or those tied)."""
        state = course.state
        number = self.dice_in_turn(state)
        leaders = everybody = list(range(state.seats))
        while len(leaders) > 1:
            seats = everybody if self.all_roll_off_again(state.options) else leaders
            faces = tuple(self.throw(dice, seat, number) for seat in seats)
            sums = {
                seat: self.roll_off_sum(state.options, shown)
                for seat, shown in zip(seats, faces, strict=True)
            }
            course.add(RolledOff(seats=tuple(seats), faces=faces, sums=tuple(sums.values())))
            leaders = best(seats, sums)
        self.choose_starter(course, leaders[0])

    def choose_starter(self, course: Course[S], seat: int) -> None:
        """The first turn is the starter's."""
        course.add(StarterChosen(seat=seat))
        self.open(course)

    def open(self, course: Course[S]) -> None:
        """What the game begins with once it is known who starts."""
        course.add(turn_started(course.state.starter, 1))

    # -- a turn ----------------------------------------------------------------------------------

    def throw(self, dice: Dice, seat: int, number: int) -> tuple[Face, ...]:
        """So many dice, thrown at once."""
        return dice.throw(seat, (self.die_name,) * number)

    def roll(self, course: Course[S], dice: Dice) -> None:
        """A throw adds to the turn total, or ends the turn by a bust or by banking."""
        state = course.state
        faces = self.throw(dice, state.seat, self.dice_in_turn(state))
        verdict = self.judge(state.options, faces)
        bust = verdict.ends == "bust"
        total = 0 if bust else state.turn_total + verdict.points
        must_roll = verdict.ends is None and self.must_roll(state, verdict)
        course.add(rolled(state.seat, faces, verdict.points, total, must_roll))
        if bust:
            course.add(*self.bust_events(state, state.turn_total))
            self.end_turn(course, verdict)
        elif verdict.ends == "bank":
            self.bank(course, verdict)
        elif not must_roll and self.holds_itself(state, total):
            self.bank(course)

    def holds_itself(self, state: S, total: int) -> bool:
        """``auto_hold``: bank at once when score and turn total reach the target, in the last
        round and in playoffs too; it waits while a throw is forced."""
        target = self.target(state.options)
        return (
            target is not None
            and state.options.auto_hold
            and state.scores[state.seat] + total >= target
        )

    def bank(self, course: Course[S], verdict: Verdict | None = None) -> None:
        """The turn total is added to the score."""
        state = course.state
        score = state.scores[state.seat] + state.turn_total
        course.add(banked(state.seat, state.turn_total, score))
        if not self.reach_target(course, score):
            self.end_turn(course, verdict)

    def reach_target(self, course: Course[S], score: int) -> bool:
        """A **banked** score that reaches the target wins at once, or makes this the last round:
        the seats after it still take their turn, the seats before it do not. The last seat of a
        round wins at once, because no other has reached the target. Returns whether it won.
        """
        state = course.state
        target = self.target(state.options)
        if target is None or score < target or state.reached is not None:
            return False
        finish = self.finish(state.options)
        if finish == "at_once" or (finish == "complete_round" and self.following(state) is None):
            self.win(course, [state.seat], "target_reached")
            return True
        course.add(LastRoundStarted(seat=state.seat))
        return False

    def end_turn(self, course: Course[S], verdict: Verdict | None) -> None:
        """What else the last throw costs, then the next turn."""
        if verdict is not None and verdict.costs is not None:
            self.charge(course, verdict.costs)
        if not self.left_alone(course):
            self.next_turn(course)

    def charge(self, course: Course[S], cost: str) -> None:
        """A throw that costs more than the turn."""
        state = course.state
        course.add(ScoreLost(seat=state.seat, lost=state.scores[state.seat]))

    # -- turn moves and the end ------------------------------------------------------------------

    def following(self, state: S) -> int | None:
        """The next seat that plays in this round, or None when the round is over.

        ``one_more_turn``: the last round goes once round the table from the seat that reached the
        target. Every other round goes clockwise from the starter.
        """
        origin = state.starter
        if (
            state.reached is not None
            and state.playoff is None
            and self.finish(state.options) == "one_more_turn"
        ):
            origin = state.reached
        playing = contenders(state)
        for place in range((state.seat - origin) % state.seats + 1, state.seats):
            seat = (origin + place) % state.seats
            if seat in playing:
                return seat
        return None

    def next_turn(self, course: Course[S]) -> None:
        """The next seat still in, clockwise; after the last one the round is over. The last seat
        left in a playoff wins it."""
        state = course.state
        seat = self.following(state)
        if playoff_decided(state):
            self.win(course, contenders(state), "playoff")
        elif seat is not None:
            passed_starter = self.place(state, seat) < self.place(state, state.seat)
            course.add(turn_started(seat, state.round + passed_starter))
        elif state.playoff is not None:
            self.end_playoff_round(course)
        elif state.reached is not None:
            self.end_last_round(course)
        else:
            self.next_round(course)

    def place(self, state: S, seat: int) -> int:
        """How many places the seat sits from the starter, clockwise."""
        return (seat - state.starter) % state.seats

    def next_round(self, course: Course[S]) -> None:
        """A round is one turn for each seat that plays, from the starter on."""
        state = course.state
        first = min(contenders(state), key=lambda seat: self.place(state, seat))
        course.add(turn_started(first, state.round + 1))

    def end_last_round(self, course: Course[S]) -> None:
        """The highest score after the last round wins; a tie is played off, shared, or goes to
        the one whose last turn came first (``first_to_reach``)."""
        state = course.state
        leaders = best(still_in(state), state.scores)
        rule = self.final_tie(state.options)
        if len(leaders) > 1 and rule == "first_to_reach":
            since = state.reached if self.finish(state.options) == "one_more_turn" else None
            origin = state.starter if since is None else since
            leaders = [min(leaders, key=lambda seat: (seat - origin) % state.seats)]
        if len(leaders) == 1 or rule == "shared":
            self.win(course, leaders, "last_round")
        else:
            course.add(PlayoffStarted(seats=tuple(leaders)))
            self.next_round(course)

    def end_playoff_round(self, course: Course[S]) -> None:
        """The tied play extra rounds with all rules until one leads; those behind drop out."""
        state = course.state
        leaders = best(contenders(state), state.scores)
        if len(leaders) == 1:
            self.win(course, leaders, "playoff")
            return
        if tuple(leaders) != state.playoff:
            course.add(PlayoffStarted(seats=tuple(leaders)))
        self.next_round(course)

    def resign(self, course: Course[S], seat: int) -> None:
        """A seat that resigns keeps its score, but cannot win. The last round stays the last."""
        on_turn = seat == course.state.seat
        course.add(Resigned(seat=seat))
        if not self.left_alone(course) and (on_turn or playoff_decided(course.state)):
            self.next_turn(course)

    def left_alone(self, course: Course[S]) -> bool:
        """When one seat is left it wins. Returns whether it is so."""
        state = course.state
        if state.seats - len(state.out) > 1:
            return False
        self.win(course, still_in(state), "last_seat")
        return True

    def win(self, course: Course[S], seats: list[int], reason: Reason) -> None:
        """The game is over."""
        course.add(GameWon(seats=tuple(seats), reason=reason))

    def outcome(self, state: S) -> Outcome | None:
        if state.reason is None:
            return None
        return Outcome.of(state.reason, state.winners, state.seats, state.scores)

    def exhausted(self, state: S) -> Outcome:
        """The current scores decide; the best share."""
        winners = best(contenders(state), state.scores)
        return Outcome.of("throws_exhausted", winners, state.seats, state.scores)

    # -- what is served --------------------------------------------------------------------------

    def phase(self, state: S) -> str:
        return "playing"

    def view(self, state: S) -> dict[str, Any]:
        view: JeopardyView = {
            "round": state.round,
            "dice": self.dice_in_turn(state),
            "starter": state.starter if state.round else None,
            "seat": state.seat if state.round else None,
            "turn_total": state.turn_total,
            "rolls": state.rolls,
            "must_roll": state.must_roll,
            "scores": list(state.scores),
            "last_round": state.reached is not None,
            "playoff": None if state.playoff is None else list(state.playoff),
            "out": list(state.out),
            "chips": None,
            "pot": 0,
            "bets": None,
            "turn_totals": None,
        }
        return cast(dict[str, Any], view)


class Plain(Jeopardy[Opts, State[Opts]], Generic[Opts]):
    """A game without chips, to a target, with a number of dice that never changes."""

    min_seats = 2
    max_seats = 8
    events = EVENTS
    number: ClassVar[int]

    def start(self, options: Opts, seats: int) -> State[Opts]:
        known = cast(Any, options).starter == "seat"
        return State(options, seats, (0,) * seats, round=int(known))

    def dice_in_turn(self, state: State[Opts]) -> int:
        return self.number

    def target(self, options: Opts) -> int:
        known: Any = options
        target: int = known.target
        return target

    def finish(self, options: Opts) -> str:
        known: Any = options
        finish: str = known.finish
        return finish
