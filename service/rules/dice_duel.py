"""Duelo de dados: everybody throws, marks dice to throw again, and the rounds are counted. Pure.

A round: one seat rolls for the whole table, every seat chooses once, all marked dice are thrown
again, the throws are compared. Whoever stands alone at the searched end takes the round: the head
where a winner is searched, the tail where a loser is. Several there break the tie among
themselves.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast, get_args

from service.dice import D6, THROWS_LIMIT, Dice, Die, even_die
from service.errors import FieldError
from service.rules import base
from service.rules.base import LegalAction, Outcome
from service.rules.dice_duel_state import (
    DECK_MOST,
    BestOf,
    Chose,
    DuelEvent,
    DuelOptions,
    DuelState,
    DuelView,
    Faces,
    Mask,
    PenaltyDrawn,
    PenaltyView,
    Phase,
    Resolved,
    Round,
    RoundLost,
    RoundView,
    RoundWon,
    Rule,
    TableRolled,
    TiebreakRolled,
    Tied,
    fold,
    no_dice,
)
from service.values import set_at

PENALTY_DIE: Final = "penalty"

# Why an action of a seat that may act is refused.
REASONS: Final = (
    "no_reroll",  # the game is played without throwing again
    "nothing_rolled",  # the first round's dice have not been thrown
    "already_rolled",  # the round's dice are on the table
    "already_resolved",  # the round was resolved: nothing of it can be marked any more
    "mask_length",  # the mask needs one flag a die
    "choices_open",  # a seat has not chosen yet
    "resolves_itself",  # the choice of the last seat resolves the round
    "host_resolves",  # only the host resolves at this table
    "no_tie",  # nobody is tied
    "must_break_tie",  # those tied throw first
    "not_in_phase",  # anything else that the duel does not know now
)

# --- comparing throws ---------------------------------------------------------------------------


def rank(rule: Rule, faces: Faces) -> tuple[int, int]:
    """How good a throw is by the rule: higher is better, equal ties.

    Trio rule: trio over pair over nothing; trios by their number, pairs by the pair's number
    only, nothing by the sum.
    """
    if rule == "sum_high":
        return 0, sum(faces)
    if rule == "sum_low":
        return 0, -sum(faces)
    number, alike = Counter(faces).most_common(1)[0]
    return (0, sum(faces)) if alike == 1 else (alike - 1, number)


def head(rule: Rule, throws: Mapping[int, Faces]) -> tuple[int, ...]:
    """The seats whose throw is the best."""
    best = max(rank(rule, faces) for faces in throws.values())
    return tuple(seat for seat, faces in throws.items() if rank(rule, faces) == best)


def tail(rule: Rule, throws: Mapping[int, Faces]) -> tuple[int, ...]:
    """The seats whose throw is the worst."""
    worst = min(rank(rule, faces) for faces in throws.values())
    return tuple(seat for seat, faces in throws.items() if rank(rule, faces) == worst)


def searched(options: DuelOptions, throws: Mapping[int, Faces]) -> tuple[int, ...]:
    """Who stands at the searched end: the head for a winner, the tail for a loser."""
    end = tail if options.loser_searched else head
    return end(options.rule, throws)


# --- the rules: each function gives the events of one clause ------------------------------------


def _throw(dice: Dice, seat: int, count: int) -> Faces:
    return tuple(int(face) for face in dice.throw(seat, ["d6"] * count))


def _roll(state: DuelState, dice: Dice) -> Iterator[DuelEvent]:
    """Every seat still in throws all its dice. Without ``reroll`` this first throw decides."""
    throws = {seat: _throw(dice, seat, state.options.dice) for seat in state.seats_in}
    rolled = TableRolled(round=len(state.rounds) + 1, faces=_by_seat(state, throws))
    yield rolled
    if not state.options.reroll:
        yield from _compare(fold(state, rolled), throws, dice)


def _choose(state: DuelState, seat: int, mask: Mask, dice: Dice) -> Iterator[DuelEvent]:
    """A seat marks dice or keeps them all; with ``press: all`` the last choice resolves."""
    chose = Chose(seat=seat, mask=mask)
    yield chose
    yield from _resolve_if_all_chose(fold(state, chose), dice)


def _resolve_if_all_chose(state: DuelState, dice: Dice) -> Iterator[DuelEvent]:
    if state.options.press == "all" and not state.not_chosen:
        yield from _resolve(state, dice)


def _resolve(state: DuelState, dice: Dice) -> Iterator[DuelEvent]:
    """All marked dice are thrown again, seat after seat; then the throws are compared."""
    throws = {seat: _rethrow(state, seat, dice) for seat in state.seats_in}
    resolved = Resolved(faces=_by_seat(state, throws))
    yield resolved
    yield from _compare(fold(state, resolved), throws, dice)


def _rethrow(state: DuelState, seat: int, dice: Dice) -> Faces:
    faces, mask = state.current.before[seat], state.current.choices[seat]
    if not mask or not any(mask):
        return faces
    marked = [die for die, again in enumerate(mask) if again]
    fresh = dict(zip(marked, _throw(dice, seat, len(marked)), strict=True))
    return tuple(fresh.get(die, face) for die, face in enumerate(faces))


def _compare(state: DuelState, throws: Mapping[int, Faces], dice: Dice) -> Iterator[DuelEvent]:
    """One seat alone at the searched end takes the round; several must break the tie."""
    seats = searched(state.options, throws)
    if len(seats) == 1:
        yield from _take_round(state, seats[0], dice)
    else:
        yield Tied(seats=seats)


def _break_tie(state: DuelState, dice: Dice) -> Iterator[DuelEvent]:
    """Only the tied throw, all their dice, and are compared only among themselves."""
    throws = {seat: _throw(dice, seat, state.options.dice) for seat in state.current.tied}
    rolled = TiebreakRolled(seats=tuple(throws), faces=tuple(throws.values()))
    yield rolled
    yield from _compare(fold(state, rolled), throws, dice)


def _take_round(state: DuelState, seat: int, dice: Dice) -> Iterator[DuelEvent]:
    """The round counts for the seat: won, or lost where a loser is searched."""
    counts = set_at(state.wins, seat, state.wins[seat] + 1)
    taken: RoundWon | RoundLost = (
        RoundLost(seat=seat, losses=counts)
        if state.options.loser_searched
        else RoundWon(seat=seat, wins=counts)
    )
    yield taken
    yield from _draw_penalties(fold(state, taken), dice)


def _resign(state: DuelState, seat: int, dice: Dice) -> Iterator[DuelEvent]:
    """The seat's dice no longer count. One seat left wins the match; one tied seat left takes the
    round; if only this seat had not chosen, the round is resolved."""
    resigned = base.Resigned(seat=seat)
    yield resigned
    left = fold(state, resigned)
    if outcome_of(left):
        yield from _draw_penalties(left, dice)
    elif len(left.current.tied) == 1:
        yield from _take_round(left, left.current.tied[0], dice)
    elif left.phase == "choosing":
        yield from _resolve_if_all_chose(left, dice)


def _draw_penalties(state: DuelState, dice: Dice) -> Iterator[DuelEvent]:
    """When the match is over, each of its losers draws one text by a throw of its own."""
    outcome, penalty = outcome_of(state), state.options.penalty
    if outcome and penalty:
        for seat in outcome.losers:
            card = int(dice.throw(seat, [PENALTY_DIE])[0])
            yield PenaltyDrawn(seat=seat, card=card, text=penalty.deck[card])


def outcome_of(state: DuelState) -> Outcome | None:
    """The match ends when a seat has the rounds needed, or when one seat is left. Where a loser is
    searched the seat with the rounds lost, and all others still in won."""
    if state.decided and state.options.loser_searched:
        winners = [seat for seat in state.seats_in if seat not in state.decided]
        return Outcome.of("rounds_lost", winners, state.seats, state.wins)
    if state.decided:
        return Outcome.of("rounds_won", state.decided, state.seats, state.wins)
    if len(state.seats_in) == 1:
        return Outcome.of("last_seat", state.seats_in, state.seats, state.wins)
    return None


def _by_seat(state: DuelState, throws: Mapping[int, Faces]) -> tuple[Faces, ...]:
    return tuple(throws.get(seat, ()) for seat in range(state.seats))


# --- the ruleset --------------------------------------------------------------------------------


class DiceDuel(base.Ruleset[DuelOptions, DuelState, DuelEvent]):
    """Rounds are taken one by one until the match is won, or lost."""

    key = "dice-duel"
    title = base.Text(es="Duelo de dados", en="Dice duel")
    summary = base.Text(
        es="Todos tiran a la vez, eligen qué dados repetir y se disputan ronda tras ronda.",
        en="All throw at once, choose which dice to throw again, and fight round after round.",
    )
    min_seats = 2
    max_seats = 8
    options_type = DuelOptions
    state_type = DuelState
    view_type = DuelView
    phases = get_args(Phase)
    reasons = REASONS
    table_kinds = ("roll", "resolve", "tiebreak")
    examples = (
        base.Example(base.Text(es="Al mejor de tres", en="Best of three"), 2, {}),
        base.Example(
            base.Text(es="Trío, pareja o nada", en="Trio, pair or nothing"),
            3,
            {"rule": "trio_pair_sum", "format": {"first_to_win": 3}},
        ),
        base.Example(
            base.Text(es="Quien pierde dos rondas, paga", en="Who loses two rounds pays"),
            4,
            {
                "rule": "sum_low",
                "format": {"first_to_lose": 2},
                "penalty": {
                    "kind": "forfeit",
                    "deck": ["Canta algo / Sing something", "Baila / Dance"],
                },
            },
        ),
    )
    actions = (base.Roll, base.Reroll, base.Hold, base.Resolve, base.Tiebreak, base.Resign)
    events = (
        TableRolled,
        Chose,
        Resolved,
        Tied,
        TiebreakRolled,
        RoundWon,
        RoundLost,
        PenaltyDrawn,
        base.Resigned,
    )

    # -- options and dice ------------------------------------------------------------------------

    def fill_options(self, raw: dict[str, Any], seats: int, hotseat: bool) -> dict[str, Any]:
        """Two seats play the best of 3, more the first to win 2. Where one device serves the
        table anyone resolves, so that the last choice can still be changed."""
        table = {
            "format": {"best_of": 3} if seats == 2 else {"first_to_win": 2},
            "press": "anyone" if hotseat else "all",
        }
        return table | raw

    def check_options(self, options: DuelOptions, seats: int) -> Iterator[FieldError]:
        """The trio rule has three dice; best of is for two seats and the others for more, unless
        the table plays free formats. A deck is in every answer, and therefore short."""
        if options.penalty is not None and sum(map(len, options.penalty.deck)) > DECK_MOST:
            yield FieldError("/penalty/deck", "texts_too_long", (("limit", DECK_MOST),))
        if options.rule == "trio_pair_sum" and options.dice != 3:
            yield FieldError("/dice", "needs_three_dice")
        if not isinstance(options.format, BestOf):
            if seats == 2 and not options.free_formats:
                yield FieldError("/format", "needs_three_seats")
            return
        if options.format.best_of % 2 == 0:
            yield FieldError("/format/best_of", "not_allowed")
        if options.free_formats:
            return
        if seats > 2:
            yield FieldError("/format", "needs_two_seats")
        if options.format.best_of > 5:
            yield FieldError("/format/best_of", "too_large", (("limit", 5),))

    def dice(self, options: DuelOptions, seats: int) -> Mapping[str, Die]:
        """Six-sided dice, and a die with a face for each text of the deck."""
        if options.penalty is None:
            return {"d6": D6}
        return {"d6": D6, PENALTY_DIE: even_die(len(options.penalty.deck))}

    def throws_max(self, options: DuelOptions, seats: int) -> int:
        """Eight throws for each seat in each round of the longest match: two are normal, the
        others are for ties and penalties."""
        rounds = seats * (options.rounds_needed - 1) + 1
        return min(THROWS_LIMIT, max(1024, 8 * seats * rounds))

    # -- the game --------------------------------------------------------------------------------

    def start(self, options: DuelOptions, seats: int) -> DuelState:
        return DuelState(options, seats, wins=(0,) * seats, current=no_dice(seats))

    def legal(self, state: DuelState) -> tuple[LegalAction, ...]:
        """Anybody still in rolls or breaks the tie for the table. A choice may be changed until
        the round is resolved."""
        if outcome_of(state):
            return ()
        if state.phase != "choosing":
            kind = "roll" if state.phase == "rolling" else "tiebreak"
            return tuple(LegalAction(seat, kind) for seat in state.seats_in)
        choices = [
            action
            for seat in state.seats_in
            for action in (
                LegalAction(seat, "reroll", dice=state.options.dice),
                LegalAction(seat, "hold"),
            )
        ]
        return (*choices, *(LegalAction(seat, "resolve") for seat in _resolvers(state)))

    def to_act(self, state: DuelState) -> tuple[int, ...]:
        """Who has not chosen; where one action serves the table, everybody still in; nobody while
        only the host can resolve."""
        if outcome_of(state):
            return ()
        if state.phase != "choosing":
            return state.seats_in
        resolvers = tuple(seat for seat in _resolvers(state) if seat is not None)
        return state.not_chosen or resolvers

    def clocked(self, state: DuelState) -> tuple[int | None, ...]:
        """Who has not chosen. A throw, a tie-break or the resolving serve the whole table: nobody
        in particular is late."""
        if outcome_of(state):
            return ()
        return (state.not_chosen if state.phase == "choosing" else ()) or (None,)

    def default_action(self, state: DuelState, seat: int | None) -> base.Action:
        """Keep all dice; throw, break the tie or resolve for the table."""
        if seat is not None:
            return base.Hold(kind="hold")
        match state.phase:
            case "rolling":
                return base.Roll(kind="roll")
            case "choosing":
                return base.Resolve(kind="resolve")
            case "tiebreak":
                return base.Tiebreak(kind="tiebreak")

    def host_kinds(self, options: DuelOptions) -> tuple[str, ...]:
        """``press: host``: the host resolves the round."""
        return ("resolve",) if options.press == "host" else ()

    def can_resign(self, state: DuelState, seat: int) -> bool:
        return outcome_of(state) is None and seat in state.seats_in

    def refusal(self, state: DuelState, seat: int | None, action: base.Action) -> str:
        """One of REASONS."""
        match action.kind:
            case "roll":
                reasons = {"choosing": "already_rolled", "tiebreak": "must_break_tie"}
                return reasons.get(state.phase, "not_in_phase")
            case "tiebreak":
                return "no_tie" if state.phase != "tiebreak" else "not_in_phase"
            case "reroll" | "hold" | "resolve":
                return _marking_refusal(state, seat, action)
        return "not_in_phase"

    def decide(
        self, state: DuelState, seat: int | None, action: base.Action, dice: Dice
    ) -> Iterator[DuelEvent]:
        match action, seat:
            case base.Roll(), _:
                return _roll(state, dice)
            case base.Reroll(mask=mask), int(chooser):
                return _choose(state, chooser, mask, dice)
            case base.Hold(), int(chooser):
                return _choose(state, chooser, (False,) * state.options.dice, dice)
            case base.Resolve(), _:
                return _resolve(state, dice)
            case base.Tiebreak(), _:
                return _break_tie(state, dice)
            case base.Resign(), int(leaver):
                return _resign(state, leaver, dice)
        raise AssertionError(f"{action.kind} is never legal here")

    def apply(self, state: DuelState, event: DuelEvent) -> DuelState:
        return fold(state, event)

    def outcome(self, state: DuelState) -> Outcome | None:
        return outcome_of(state)

    def exhausted(self, state: DuelState) -> Outcome:
        """The seats still in with the most rounds won, or the fewest lost, share the match."""
        best = min if state.options.loser_searched else max
        count = best(state.wins[seat] for seat in state.seats_in)
        winners = [seat for seat in state.seats_in if state.wins[seat] == count]
        return Outcome.of("throws_exhausted", winners, state.seats, state.wins)

    # -- the series ------------------------------------------------------------------------------

    def tally(self, options: DuelOptions, outcome: Outcome) -> tuple[int, ...]:
        """Matches won; matches lost (a seat that resigned lost too) where a loser is searched."""
        counted = outcome.losers if options.loser_searched else outcome.winners
        seats = len(outcome.winners) + len(outcome.losers)
        return tuple(int(seat in counted) for seat in range(seats))

    def tally_key(self, options: DuelOptions) -> str:
        return "lost" if options.loser_searched else "won"

    # -- what is served --------------------------------------------------------------------------

    def phase(self, state: DuelState) -> str:
        return state.phase

    def view(self, state: DuelState) -> dict[str, Any]:
        """The dice of a seat that resigned are off the table; past rounds keep them."""
        view: DuelView = {
            "round": len(state.rounds) + (0 if state.decided else 1),
            "faces": _lists(
                () if seat in state.out else faces for seat, faces in enumerate(state.current.after)
            ),
            "choices": [None if mask is None else list(mask) for mask in state.current.choices],
            "tied": list(state.current.tied),
            "wins": list(state.wins),
            "rounds": [_round_view(number, past) for number, past in enumerate(state.rounds, 1)],
            "penalties": _penalties_view(state),
        }
        return dict(view)


def _resolvers(state: DuelState) -> tuple[int | None, ...]:
    """Who may resolve now (null: the host): only once every seat has chosen."""
    if state.not_chosen or state.options.press == "all":
        return ()
    return (None,) if state.options.press == "host" else state.seats_in


def _marking_refusal(state: DuelState, seat: int | None, action: base.Action) -> str:
    """Why nothing can be marked, kept or resolved now."""
    if not state.options.reroll:
        return "no_reroll"
    if state.phase == "tiebreak" or (state.phase == "rolling" and state.rounds):
        return "already_resolved"
    if state.phase == "rolling":
        return "nothing_rolled"
    if isinstance(action, base.Reroll):
        return "mask_length"
    if state.options.press == "all":
        return "resolves_itself"
    return "host_resolves" if state.options.press == "host" and seat is not None else "choices_open"


def _lists(faces: Iterable[Faces]) -> list[list[int]]:
    return [list(throw) for throw in faces]


def _round_view(number: int, past: Round) -> RoundView:
    return {
        "round": number,
        "before": _lists(past.before),
        "after": _lists(past.after),
        "tiebreaks": [
            {"seats": list(throw.seats), "faces": _lists(throw.faces)} for throw in past.tiebreaks
        ],
        "seat": cast(int, past.seat),  # a past round has been taken
    }


def _penalties_view(state: DuelState) -> list[PenaltyView] | None:
    penalty = state.options.penalty
    if penalty is None or outcome_of(state) is None:
        return None
    return [{"seat": seat, "text": penalty.deck[card]} for seat, card in state.penalties]


DICE_DUEL: Final = DiceDuel()
