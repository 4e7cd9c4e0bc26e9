"""Dados puercos: three ways to bet on one, two or three dice (``docs/rules/dados-puercos.md``)."""

from collections.abc import Iterator
from typing import Any

from service.dice import THROWS_LIMIT, Dice
from service.errors import FieldError
from service.rules import dados_puercos_bets as bets
from service.rules.base import (
    Action,
    Bet,
    Event,
    Example,
    Hold,
    LegalAction,
    Outcome,
    Pass,
    Reason,
    Resign,
    Resigned,
    Roll,
    Text,
)
from service.rules.dados_puercos_state import (
    DADOS_FOLDS,
    BetLost,
    BetOpened,
    BetPlaced,
    DadosOptions,
    DadosState,
    KnockedOut,
    Passed,
    PiggenBusted,
    PotCarried,
    PotShared,
    PotWon,
    RaceState,
    StakesReturned,
    TurnsState,
    asked,
)
from service.rules.jeopardy import (
    BUST,
    BUST_AND_SCORE,
    REASONS,
    THROWS_LEAST,
    Jeopardy,
    Verdict,
)
from service.rules.jeopardy_state import (
    Banked,
    Course,
    GameWon,
    LastRoundStarted,
    PlayoffStarted,
    Rolled,
    RolledOff,
    ScoreLost,
    StarterChosen,
    TurnStarted,
    best,
    contenders,
    still_in,
)

BUST_AND_OUT = Verdict(ends="bust", costs="seat")


class DadosPuercos(Jeopardy[DadosOptions, DadosState]):
    """Dice in which the 6 is the swine."""

    key = "dados-puercos"
    title = Text(es="Dados puercos", en="Dados Puercos (Piggy Dice)")
    summary = Text(
        es=(
            "Uno, dos o tres dados y un bote: suma tiradas y plántate antes de que salga el 6, "
            "que se lleva lo acumulado al grito de «piggen-sït!». Por puntos, por turnos o por "
            "rondas."
        ),
        en=(
            "One, two or three dice and a pot: add throw after throw and hold before a 6 takes "
            "what the turn has gathered, to the cry of “piggen-sït!”. By points, turns or rounds."
        ),
    )
    min_seats = 2
    max_seats = 8
    options_type = DadosOptions
    state_type = DadosState
    folds = DADOS_FOLDS
    phases = ("betting", "playing")
    reasons = REASONS
    examples = (
        Example(Text(es="Por puntos, sin dinero", en="By points, for honour"), 2, {}),
        Example(
            Text(es="Por puntos, dos dados y un bote", en="By points, two dice and a pot"),
            3,
            {"mode": "points", "dice": 2, "target": 100, "stake": 10},
        ),
        Example(
            Text(
                es="Por turnos: cinco apuestas con tres dados", en="By turns: five bets, three dice"
            ),
            3,
            {"mode": "turns", "dice": 3, "bets": 5},
        ),
        Example(
            Text(es="Por rondas: un dado más cada dos", en="By rounds: one die more every two"),
            4,
            {"mode": "rounds", "rounds_per_die": 2, "target": 150, "stake": 5},
        ),
    )
    actions = (Roll, Hold, Bet, Pass, Resign)
    events = (
        RolledOff,
        StarterChosen,
        BetOpened,
        BetPlaced,
        Passed,
        StakesReturned,
        TurnStarted,
        Rolled,
        Banked,
        PiggenBusted,
        ScoreLost,
        KnockedOut,
        BetLost,
        PotWon,
        PotShared,
        PotCarried,
        LastRoundStarted,
        PlayoffStarted,
        Resigned,
        GameWon,
    )

    # -- options ---------------------------------------------------------------------------------

    def fill_options(self, raw: dict[str, Any], seats: int, hotseat: bool) -> dict[str, Any]:
        return {"mode": "points", **raw}

    def check_options(self, options: DadosOptions, seats: int) -> Iterator[FieldError]:
        """No stake may exceed what a seat holds."""
        if options.stake is not None and options.stake > options.bankroll:
            yield FieldError("/stake", "above_bankroll", (("limit", options.bankroll),))

    def target(self, options: DadosOptions) -> int | None:
        return None if options.mode == "turns" else options.target

    def finish(self, options: DadosOptions) -> str:
        return "at_once" if options.mode == "turns" else options.finish

    def throws_max(self, options: DadosOptions, seats: int) -> int:
        if options.mode == "turns":
            return min(max(THROWS_LEAST, 32 * options.bets * seats), THROWS_LIMIT)
        return super().throws_max(options, seats)

    # -- throws ----------------------------------------------------------------------------------

    def dice_in_turn(self, state: DadosState) -> int:
        """Mode ``rounds``: one die more after every ``rounds_per_die`` full rounds, from the first
        turn of the next round on, up to ``max_dice``; extra rounds add dice as well."""
        options = state.options
        if options.mode == "rounds":
            grown = 1 + max(state.round - 1, 0) // options.rounds_per_die
            return min(grown, options.max_dice)
        return options.dice

    def judge(self, options: DadosOptions, faces: tuple[int, ...]) -> Verdict:
        """Dados puercos: without a 6 the throw adds points, with a 6 it is swine."""
        sixes = faces.count(6)
        if not sixes:
            return self.judge_clean(options, faces)
        if len(faces) == 3 and sixes == 1:
            return self.judge_lone_six(options, faces)
        if len(faces) == 2 and sixes == 2:
            return self.judge_double_six(options)
        if sixes == 3:
            return BUST_AND_SCORE if options.triple_six == "score" else BUST_AND_OUT
        return BUST

    def judge_clean(self, options: DadosOptions, faces: tuple[int, ...]) -> Verdict:
        """Dados puercos, no 6: the sum; a double counts twice the whole throw (``double_counts``:
        or only its pair twice), a triple four times. ``doubles_force``: a double forces another
        throw, a triple never does."""
        points = sum(faces)
        repeats = len(faces) - len(set(faces))
        if repeats == 0:
            return Verdict(points)
        if repeats == 2:
            return Verdict(4 * points)
        whole = options.double_counts == "throw"
        pair = 2 * next(face for face in faces if faces.count(face) == 2)
        return Verdict(points + (points if whole else pair), forces=options.doubles_force)

    def judge_lone_six(self, options: DadosOptions, faces: tuple[int, ...]) -> Verdict:
        """Dados puercos, three dice, exactly one 6: the turn ends and the turn total is banked;
        this throw adds nothing (``lone_six: bank_others``: the plain sum of the other two)."""
        points = sum(faces) - 6 if options.lone_six == "bank_others" else 0
        loses_bet = options.mode == "turns" and options.lone_six_loses_bet
        return Verdict(points, ends="bank", costs="bet" if loses_bet else None)

    def judge_double_six(self, options: DadosOptions) -> Verdict:
        """Dados puercos, two dice, 6-6: a bust (``double_six``: ``score`` = the score is lost as
        well, ``out`` = the seat is out)."""
        match options.double_six:
            case "turn":
                return BUST
            case "score":
                return BUST_AND_SCORE
            case "out":
                return BUST_AND_OUT

    def bust_events(self, state: DadosState, lost: int) -> tuple[Event, ...]:
        """Dados puercos: a bust on a 6 carries the cry, and loses the stake there and then."""
        busted = PiggenBusted(seat=state.seat, lost=lost)
        return (busted, BetLost(seat=state.seat)) if isinstance(state, TurnsState) else (busted,)

    def charge(self, course: Course[DadosState], cost: str) -> None:
        seat = course.state.seat
        if cost == "seat":
            course.add(KnockedOut(seat=seat))
        elif cost == "bet":
            course.add(BetLost(seat=seat))
        else:
            super().charge(course, cost)

    # -- the game --------------------------------------------------------------------------------

    def start(self, options: DadosOptions, seats: int) -> DadosState:
        """``points``, ``rounds``: everybody pays the stake into the pot, no way out."""
        known = int(options.starter == "seat")
        scores, full = (0,) * seats, (options.bankroll,) * seats
        if options.mode == "turns":
            nobody = (None,) * seats
            return TurnsState(
                options, seats, scores, round=known, chips=full, bets=nobody, turn_totals=nobody
            )
        if not options.stake:
            return RaceState(options, seats, scores, round=known)
        chips = tuple(held - options.stake for held in full)
        return RaceState(
            options, seats, scores, round=known, chips=chips, pot=options.stake * seats
        )

    def betting(self, state: DadosState) -> int | None:
        """The seat that must answer a bet now."""
        return asked(state) if state.reason is None and state.round else None

    def legal(self, state: DadosState) -> tuple[LegalAction, ...]:
        seat = self.betting(state)
        if seat is None or isinstance(state, RaceState):
            return super().legal(state)
        return bets.legal_answers(state, seat)

    def to_act(self, state: DadosState) -> tuple[int, ...]:
        seat = self.betting(state)
        return super().to_act(state) if seat is None else (seat,)

    def refusal(self, state: DadosState, seat: int | None, action: Action) -> str:
        bettor = self.betting(state)
        known = type(action) in self.actions
        if not known or bettor is None or isinstance(state, RaceState):
            return super().refusal(state, seat, action)
        return bets.answer_refusal(state, bettor, action)

    def act(self, course: Course[DadosState], seat: int | None, action: Action, dice: Dice) -> None:
        if action.kind == "bet" and seat is not None:
            bets.bet(course, seat, action.amount)
        elif action.kind == "pass" and seat is not None:
            bets.sit_out(course, seat)
        else:
            super().act(course, seat, action, dice)

    def open(self, course: Course[DadosState]) -> None:
        state = course.state
        if isinstance(state, TurnsState):
            course.add(BetOpened(seat=state.starter, round=1))
        else:
            super().open(course)

    def next_turn(self, course: Course[DadosState]) -> None:
        if isinstance(course.state, TurnsState):
            bets.next_bettor(course)
        else:
            super().next_turn(course)

    def resign(self, course: Course[DadosState], seat: int) -> None:
        if self.betting(course.state) is None:
            super().resign(course, seat)
            return
        course.add(Resigned(seat=seat))
        if not self.left_alone(course):
            bets.after_resignation(course)

    def win(self, course: Course[DadosState], seats: list[int], reason: Reason) -> None:
        """The winner takes the pot."""
        bets.share_pot(course, seats)
        super().win(course, seats, reason)

    def outcome(self, state: DadosState) -> Outcome | None:
        if state.reason is None:
            return None
        return Outcome.of(state.reason, state.winners, state.seats, state.scores, state.chips)

    def exhausted(self, state: DadosState) -> Outcome:
        """``turns``: open bets go back, and the most chips win. ``points``, ``rounds``: the best
        scores share the pot; stakes that were paid with no way out do not go back."""
        if isinstance(state, TurnsState):
            chips = bets.chips_without_throws(state)
            winners = best(still_in(state), chips)
            return Outcome.of("throws_exhausted", winners, state.seats, state.scores, chips)
        winners = best(contenders(state), state.scores)
        course: Course[DadosState] = Course(self.apply, state)
        self.win(course, winners, "throws_exhausted")
        ended = course.state
        return Outcome.of("throws_exhausted", winners, state.seats, state.scores, ended.chips)

    def chips_in_play(self, state: DadosState) -> int | None:
        return None if state.chips is None else sum(state.chips) + state.pot

    # -- what is served --------------------------------------------------------------------------

    def phase(self, state: DadosState) -> str:
        return "betting" if state.reason is None and asked(state) is not None else "playing"

    def view(self, state: DadosState) -> dict[str, Any]:
        view = super().view(state)
        seat = self.betting(state)
        return {
            **view,
            "seat": view["seat"] if seat is None else seat,
            "chips": None if state.chips is None else list(state.chips),
            "pot": state.pot,
            "bets": list(state.bets) if isinstance(state, TurnsState) else None,
            "turn_totals": list(state.turn_totals) if isinstance(state, TurnsState) else None,
        }


DADOS_PUERCOS = DadosPuercos()
