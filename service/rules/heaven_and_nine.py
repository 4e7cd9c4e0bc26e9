"""Paraíso y Nueve: one seat holds the bank, and its throw is the mark that the others must beat.

A round: the banker sets a limit, the other seats bet or pass, the bets are covered, the banker
throws the mark, and each bettor throws until a throw is of the mark's series. Then the higher
throw wins even money.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from typing_extensions import TypedDict

from service.dice import D6, THROWS_LIMIT, Dice, Die, even_die
from service.errors import FieldError
from service.rules import base
from service.rules.base import LegalAction, Outcome
from service.rules.heaven_and_nine_state import (
    BankPassed,
    BankRolledFor,
    BetsReturned,
    BettorBet,
    BettorPassed,
    BettorRolled,
    Circuits,
    Covered,
    FirstBankerChosen,
    GameEnded,
    HeavenAndNineEvent,
    HeavenAndNineOptions,
    HeavenAndNineState,
    LimitSet,
    MarkSet,
    Phase,
    RoundEnded,
    Rounds,
    RoundStarted,
    Settled,
)
from service.rules.heaven_and_nine_throws import THROWS, Faces, Figure, Series, figure
from service.values import changed

# Why an action of a seat that may act is refused.
REASONS: Final = (
    "below_minimum",  # an amount of 0
    "above_limit",  # more than the banker allows
    "above_chips",  # more than the seat holds
    "above_cover",  # more than the bank could pay (cover: refuse)
    "not_in_phase",  # a kind for another moment or another seat
    "not_in_ruleset",  # a kind that this game does not know
)

_SEAT_DIE: Final = "seat"


class MarkView(TypedDict):
    """The banker's throw."""

    series: Series
    rank: int
    faces: list[int]


class LastThrowView(TypedDict):
    """The last throw of a banker or a bettor; ``counts`` is false in the other series."""

    seat: int
    faces: list[int]
    series: Series
    rank: int
    counts: bool


class HeavenAndNineView(TypedDict):
    """The table as everybody sees it; lists as long as the table are indexed by seat."""

    round: int
    banker: int | None
    banked: list[int]
    limit: int | None
    bets: list[int | None]
    covered: list[int]
    mark: MarkView | None
    seat: int | None
    last_throw: LastThrowView | None
    results: list[int | None]
    chips: list[int]


# --- what may be done ---------------------------------------------------------------------------


def _most_to_bet(state: HeavenAndNineState, seat: int) -> int:
    """The limit, the seat's own chips and, with ``cover: refuse``, what the bank has left."""
    most = min(state.limit or 0, state.chips[seat])
    return min(most, _uncommitted(state)) if state.options.cover == "refuse" else most


def _uncommitted(state: HeavenAndNineState) -> int:
    """What the bank could still pay if it lost all bets on the table."""
    return state.chips[state.banker] - sum(state.stakes)


def _offers(state: HeavenAndNineState, seat: int) -> Iterator[LegalAction]:
    """The banker sets a limit of 1 or more, then the others bet 1 or more or pass (where nothing
    can be bet they only pass), then the banker throws, then each bettor."""
    if state.phase == "limit":
        yield LegalAction(seat, "set_limit", min=1, max=state.chips[seat])
    elif state.phase == "betting":
        most = _most_to_bet(state, seat)
        if most >= 1:
            yield LegalAction(seat, "bet", min=1, max=most)
        yield LegalAction(seat, "pass")
    else:
        yield LegalAction(seat, "roll")


def _wrong_amount(state: HeavenAndNineState, seat: int, amount: int) -> str:
    """Which bound an amount breaks: the first of REASONS that applies."""
    if amount < 1:
        return "below_minimum"
    if state.phase == "betting" and amount > (state.limit or 0):
        return "above_limit"
    return "above_chips" if amount > state.chips[seat] else "above_cover"


# --- who holds the bank first -------------------------------------------------------------------


def _roll_off(state: HeavenAndNineState, dice: Dice) -> Iterator[HeavenAndNineEvent]:
    """All throw both dice, the largest sum banks first; only those tied for it throw again
    (``roll_off_tie: all``: everybody)."""
    everybody = tied = state.present
    while len(tied) > 1:
        seats = everybody if state.options.roll_off_tie == "all" else tied
        faces = tuple(_throw(dice, seat) for seat in seats)
        sums = tuple(map(sum, faces))
        yield BankRolledFor(seats=seats, faces=faces, sums=sums)
        tied = tuple(seat for seat, total in zip(seats, sums, strict=True) if total == max(sums))
    yield from _first_bank(tied[0])


def _draw_starter(dice: Dice) -> Iterator[HeavenAndNineEvent]:
    """One die with a face for each seat names the first banker."""
    (face,) = dice.throw(None, (_SEAT_DIE,))
    yield from _first_bank(int(face))


def _first_bank(seat: int) -> Iterator[HeavenAndNineEvent]:
    yield FirstBankerChosen(seat=seat)
    yield RoundStarted(round=1, banker=seat)


# --- a round ------------------------------------------------------------------------------------


def _throw(dice: Dice, seat: int) -> Faces:
    first, second = dice.throw(seat, ("d6", "d6"))
    return int(first), int(second)


def _roll(state: HeavenAndNineState, seat: int, dice: Dice) -> Iterator[HeavenAndNineEvent]:
    """First the banker throws the mark, then each bettor against it."""
    if state.mark is None:
        return _roll_mark(state, dice)
    return _roll_against(state, seat, figure(state.mark), dice)


def _roll_mark(state: HeavenAndNineState, dice: Dice) -> Iterator[HeavenAndNineEvent]:
    """The banker's throw is the mark. Top of either series: the bank wins all bets. Bottom: it
    pays all. Otherwise the bettors throw."""
    faces = _throw(dice, state.banker)
    mark = figure(faces)
    yield MarkSet(seat=state.banker, faces=faces, series=mark.series, rank=mark.rank)
    if mark.wins_all or mark.loses_all:
        for seat in state.open_bets:
            stake = state.stakes[seat]
            yield Settled(seat=seat, stake=stake, won=stake if mark.loses_all else -stake)


def _roll_against(
    state: HeavenAndNineState, seat: int, mark: Figure, dice: Dice
) -> Iterator[HeavenAndNineEvent]:
    """A throw of the other series does not count, and the seat throws again. In the mark's
    series the higher wins even money, the lower loses, an equal one takes the bet back."""
    faces = _throw(dice, seat)
    shown = figure(faces)
    counts = shown.series == mark.series
    yield BettorRolled(seat=seat, faces=faces, series=shown.series, rank=shown.rank, counts=counts)
    if counts:
        stake = state.stakes[seat]
        yield Settled(seat=seat, stake=stake, won=stake * _compared(state, shown, mark))


def _compared(state: HeavenAndNineState, shown: Figure, mark: Figure) -> int:
    """1 above the mark, -1 below it, 0 equal. Both throws of a number tie, unless the military
    order is strict: then the one listed first is higher."""
    if state.options.military_order == "strict":
        place, target = THROWS.index(shown), THROWS.index(mark)
    else:
        place, target = shown.rank, mark.rank
    return (place < target) - (place > target)


def _resign(state: HeavenAndNineState, seat: int) -> Iterator[HeavenAndNineEvent]:
    """A bettor who resigns loses an open bet to the bank."""
    yield base.Resigned(seat=seat)
    if state.stakes[seat]:
        yield Settled(seat=seat, stake=state.stakes[seat], won=-state.stakes[seat])


def _cover(state: HeavenAndNineState) -> Covered:
    """Bets are covered from the banker's left until its chips end; the excess goes back."""
    bank = state.chips[state.banker]
    amounts = _shares(state, bank) if state.options.cover == "proportional" else state.stakes
    covered = [0] * state.seats
    for seat in state.open_bets:
        covered[seat] = min(amounts[seat], bank)
        bank -= covered[seat]
    returned = (stake - kept for stake, kept in zip(state.stakes, covered, strict=True))
    return Covered(amounts=tuple(covered), returned=tuple(returned))


def _shares(state: HeavenAndNineState, bank: int) -> tuple[int, ...]:
    """``proportional``: each bet's share of the bank rounded down, and what remains one chip each
    from the left."""
    total = sum(state.stakes)
    if total <= bank:
        return state.stakes
    shares = [stake * bank // total for stake in state.stakes]
    for seat in state.open_bets[: bank - sum(shares)]:
        shares[seat] += 1
    return tuple(shares)


# --- what follows by itself ---------------------------------------------------------------------


def _follows(state: HeavenAndNineState) -> tuple[HeavenAndNineEvent, ...]:
    """What the table does next without being asked; empty when it waits for a seat."""
    if state.ended is not None or not state.round:
        return ()
    if any(state.stakes) and _is_cut_short(state):
        return (_return_bets(state),)
    if len(state.present) == 1:
        return (GameEnded(reason="last_seat"),)
    if _is_over(state):
        return _close(state)
    if state.phase == "limit" and len(state.able) < 2:
        return (GameEnded(reason="no_chips"),)
    if state.phase == "betting" and not state.undecided:
        return (_cover(state),)
    return ()


def _is_cut_short(state: HeavenAndNineState) -> bool:
    """Open bets go back when the banker resigns and, with ``at_once``, after the first loss."""
    first_loss = state.options.bank_passes == "at_once" and _bank_lost(state)
    return state.banker in state.out or first_loss


def _return_bets(state: HeavenAndNineState) -> BetsReturned:
    return BetsReturned(amounts=state.stakes)


def _is_over(state: HeavenAndNineState) -> bool:
    """A round is over when the banker has resigned, or all have decided and no bet is open."""
    decided = state.phase != "limit" and not state.undecided
    return state.banker in state.out or (decided and not any(state.stakes))


def _bank_lost(state: HeavenAndNineState) -> bool:
    """Whether the banker lost a bet; an automatic loss counts, unless the option says no."""
    lost = any((state.results[seat] or 0) > 0 for seat in state.left)
    fell = state.mark is not None and figure(state.mark).loses_all
    return lost and (state.options.automatic_loss_passes or not fell)


def _bank_passes(state: HeavenAndNineState) -> bool:
    """The bank passes after a round in which the banker lost a bet or nobody bet (or by option
    every round, or never), and always when the banker has no chips or has resigned."""
    if state.banker not in state.able or state.options.bank_passes == "every_round":
        return True
    nobody_bet = not any(state.bets)
    return state.options.bank_passes != "never" and (nobody_bet or _bank_lost(state))


def _close(state: HeavenAndNineState) -> tuple[HeavenAndNineEvent, ...]:
    """The end of a round: the game ends, or the bank passes, or the same seat banks again."""
    ended = RoundEnded(round=state.round, results=state.results)
    if len(state.able) < 2:
        return ended, GameEnded(reason="no_chips")
    end = state.options.end
    if isinstance(end, Rounds) and state.round >= end.rounds:
        return ended, GameEnded(reason="rounds_played")
    following = state.round + 1
    if not _bank_passes(state):
        return ended, RoundStarted(round=following, banker=state.banker)
    passed = _pass_bank(state)
    if isinstance(end, Circuits) and passed.circuit > end.circuits:
        return ended, GameEnded(reason="circuits_played")
    return ended, passed, RoundStarted(round=following, banker=passed.to)


def _pass_bank(state: HeavenAndNineState) -> BankPassed:
    """To the next seat on the left that has chips. A circuit is over when that seat has held the
    bank in it."""
    to = next(seat for seat in state.left if seat in state.able)
    circuit = state.circuit + (to in state.banked)
    return BankPassed(seat=state.banker, to=to, circuit=circuit)


# --- the ruleset --------------------------------------------------------------------------------


class HeavenAndNine(base.Ruleset[HeavenAndNineOptions, HeavenAndNineState, HeavenAndNineEvent]):
    """The bank against the table, with the 21 throws of two dice in two series."""

    key = "heaven-and-nine"
    title = base.Text(es="Paraíso y Nueve", en="Heaven and Nine")
    summary = base.Text(
        es="Un asiento tiene la banca y su tirada es la marca; los demás apuestan a superarla en"
        " su misma serie.",
        en="One seat holds the bank and its throw is the mark; the others bet that they beat it"
        " in its own series.",
    )
    min_seats = 2
    max_seats = 12
    options_type = HeavenAndNineOptions
    state_type = HeavenAndNineState
    view_type = HeavenAndNineView
    phases = get_args(Phase)
    reasons = REASONS
    examples = (
        base.Example(base.Text(es="La partida de siempre", en="The usual game"), 3, {}),
        base.Example(
            base.Text(es="Diez rondas con una sola banca", en="Ten rounds with one bank"),
            4,
            {"end": {"rounds": 10}, "bank_passes": "never"},
        ),
        base.Example(
            base.Text(es="Dos vueltas, con todo en orden", en="Two circuits, in strict order"),
            2,
            {"end": {"circuits": 2}, "military_order": "strict"},
        ),
    )
    actions = (base.SetLimit, base.Bet, base.Pass, base.Roll, base.Resign)
    events = get_args(HeavenAndNineEvent)

    def glossary(self) -> list[dict[str, Any]]:
        """The 21 throws, high to low in each series, with their names."""
        return [
            {
                "faces": list(each.faces),
                "series": each.series,
                "rank": each.rank,
                "ways": each.ways,
                "names": {"es": each.es, "en": each.en, "zh": each.zh},
            }
            for each in THROWS
        ]

    def check_options(self, options: HeavenAndNineOptions, seats: int) -> Iterator[FieldError]:
        """A bank that never passes makes no circuit."""
        if options.bank_passes == "never" and not isinstance(options.end, Rounds):
            yield FieldError("/bank_passes", "needs_rounds")

    def dice(self, options: HeavenAndNineOptions, seats: int) -> Mapping[str, Die]:
        """A die over the seats besides, if it names the first banker."""
        drawn = {_SEAT_DIE: even_die(seats)} if options.starter == "random" else {}
        return {"d6": D6, **drawn}

    def throws_max(self, options: HeavenAndNineOptions, seats: int) -> int:
        """Four throws for each seat and round, where the mean is below two; a circuit counts as
        2 * (seats + 1) rounds."""
        end = options.end
        rounds = end.rounds if isinstance(end, Rounds) else end.circuits * 2 * (seats + 1)
        return min(THROWS_LIMIT, max(1024, rounds * 4 * seats))

    def start(self, options: HeavenAndNineOptions, seats: int) -> HeavenAndNineState:
        """All seats have their bankroll; with ``starter: seat`` seat 0 holds the bank."""
        nothing = (0,) * seats
        state = HeavenAndNineState(
            options=options,
            seats=seats,
            chips=(options.bankroll,) * seats,
            bets=(None,) * seats,
            results=(None,) * seats,
            covered=nothing,
            stakes=nothing,
        )
        return changed(state, banked=(0,)).new_round(1) if options.starter == "seat" else state

    def opening(self, state: HeavenAndNineState) -> base.RollOff | base.DrawStarter | None:
        """The first bank is rolled for or drawn, unless seat 0 has it."""
        if state.round:
            return None
        if state.options.starter == "roll":
            return base.RollOff(kind="roll_off")
        return base.DrawStarter(kind="draw_starter")

    def legal(self, state: HeavenAndNineState) -> tuple[LegalAction, ...]:
        """What the phase offers to each seat that is waited for."""
        return tuple(offer for seat in state.awaited for offer in _offers(state, seat))

    def to_act(self, state: HeavenAndNineState) -> tuple[int, ...]:
        """All that may act are waited for: the banker, those yet to bet, or who throws."""
        return state.awaited

    def can_resign(self, state: HeavenAndNineState, seat: int) -> bool:
        """Whether the seat is still in, with chips or without, and the game goes on."""
        return state.ended is None and seat in state.present

    def refusal(self, state: HeavenAndNineState, seat: int | None, action: base.Action) -> str:
        """One of REASONS."""
        if not isinstance(action, self.actions):
            return "not_in_ruleset"
        if seat is None or seat not in state.awaited:
            return "not_in_phase"
        match action, state.phase:
            case (base.SetLimit(amount=amount), "limit") | (base.Bet(amount=amount), "betting"):
                return _wrong_amount(state, seat, amount)
        return "not_in_phase"

    def decide(
        self, state: HeavenAndNineState, seat: int | None, action: base.Action, dice: Dice
    ) -> Iterator[HeavenAndNineEvent]:
        """What the action makes happen, and then what follows from it by itself."""
        made = (
            self._of_table(state, action, dice)
            if seat is None
            else self._of_seat(state, seat, action, dice)
        )
        for event in made:
            state = self.apply(state, event)
            yield event
        while following := _follows(state):
            for event in following:
                state = self.apply(state, event)
                yield event

    def _of_table(
        self, state: HeavenAndNineState, action: base.Action, dice: Dice
    ) -> Iterator[HeavenAndNineEvent]:
        rolls = isinstance(action, base.RollOff)
        return _roll_off(state, dice) if rolls else _draw_starter(dice)

    def _of_seat(
        self, state: HeavenAndNineState, seat: int, action: base.Action, dice: Dice
    ) -> Iterator[HeavenAndNineEvent]:
        match action:
            case base.SetLimit(amount=amount):
                yield LimitSet(seat=seat, amount=amount)
            case base.Bet(amount=amount):
                yield BettorBet(seat=seat, amount=amount)
            case base.Pass():
                yield BettorPassed(seat=seat)
            case base.Roll():
                yield from _roll(state, seat, dice)
            case base.Resign():
                yield from _resign(state, seat)

    def apply(self, state: HeavenAndNineState, event: HeavenAndNineEvent) -> HeavenAndNineState:
        """Every event knows what it makes of a state."""
        if isinstance(event, base.Resigned):
            return state.without(event.seat)
        return event.fold(state)

    def outcome(self, state: HeavenAndNineState) -> Outcome | None:
        """The seat still in with most chips wins; ties share."""
        return None if state.ended is None else _outcome(state, state.ended)

    def exhausted(self, state: HeavenAndNineState) -> Outcome:
        """Chips decide after all open bets went back."""
        return _outcome(_return_bets(state).fold(state), "throws_exhausted")

    def chips_in_play(self, state: HeavenAndNineState) -> int:
        """What the seats hold and what lies on the table; the bank's cover is in its chips."""
        return sum(state.chips) + sum(state.stakes)

    def phase(self, state: HeavenAndNineState) -> Phase:
        """``limit`` also while the first banker is not known."""
        return state.phase

    def view(self, state: HeavenAndNineState) -> dict[str, Any]:
        """A HeavenAndNineView; ``banker`` is null until the first one is known."""
        shown: HeavenAndNineView = {
            "round": state.round,
            "banker": state.banker if state.round else None,
            "banked": list(state.banked),
            "limit": state.limit,
            "bets": list(state.bets),
            "covered": list(state.covered),
            "mark": _mark_view(state),
            "seat": state.thrower,
            "last_throw": _last_throw_view(state),
            "results": list(state.results),
            "chips": list(state.chips),
        }
        return dict(shown)


def _outcome(state: HeavenAndNineState, reason: base.Reason) -> Outcome:
    most = max(state.chips[seat] for seat in state.present)
    winners = [seat for seat in state.present if state.chips[seat] == most]
    return Outcome.of(reason, winners, state.seats, chips=state.chips)


def _mark_view(state: HeavenAndNineState) -> MarkView | None:
    if state.mark is None:
        return None
    mark = figure(state.mark)
    return {"series": mark.series, "rank": mark.rank, "faces": list(state.mark)}


def _last_throw_view(state: HeavenAndNineState) -> LastThrowView | None:
    last = state.last_throw
    if last is None:
        return None
    shown = figure(last.faces)
    return {
        "seat": last.seat,
        "faces": list(last.faces),
        "series": shown.series,
        "rank": shown.rank,
        "counts": last.counts,
    }


HEAVEN_AND_NINE: Final = HeavenAndNine()
