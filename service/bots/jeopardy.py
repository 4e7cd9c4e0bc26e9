"""Bots for games in which a bust loses what is not banked: they hold at a turn total. Pure."""

from typing import Any, Final, cast

from service.bots.base import PLAIN, Policy, Position, amounting
from service.rules.base import Action, LegalAction
from service.rules.dados_puercos_state import LOST, TurnsState
from service.rules.jeopardy import Jeopardy
from service.rules.jeopardy_state import State, contenders

# Where the mean of a turn of Dados puercos is highest, by the number of dice.
BEST_HOLDS: Final = {1: 15, 2: 17, 3: 113}


def hold_at(least: int) -> Policy:
    """Rolls on until the turn total has come to ``least``; see ``_holds`` for the rest."""

    def policy(position: Position) -> Action:
        if position.offer("bet") or position.offer("pass"):
            return answer_bet(position)
        return PLAIN["hold" if _holds(position, least) else "roll"]

    return policy


def best_mean(position: Position) -> Action:
    """Dados puercos: holds where the mean of a turn is highest with so many dice."""
    return hold_at(BEST_HOLDS[_game(position).dice_in_turn(position.state)])(position)


def answer_bet(position: Position) -> Action:
    """Opens with a tenth of its chips. Pays what another has named, unless that is more than half
    of what it has; a stake that is fixed for the whole game it always pays."""
    state, bet = position.state, position.offer("bet")
    if bet is None:
        return PLAIN["pass"]
    chips = state.chips[position.seat]
    dear = state.options.stake is None and 2 * (bet.min or 0) > chips
    if dear and position.offer("pass"):
        return PLAIN["pass"]
    return amounting(bet, chips // 10)


def _game(position: Position) -> Jeopardy[Any, Any]:
    return cast(Jeopardy[Any, Any], position.ruleset)


def _holds(position: Position, least: int) -> bool:
    """Whether to hold, if it may: at ``least`` or at the target; and never while another seat is
    ahead that could not be caught up with in a later turn."""
    state = position.state
    hold: LegalAction | None = position.offer("hold")
    if hold is None or position.offer("roll") is None:
        return hold is not None
    if isinstance(state, TurnsState):
        return _holds_for_pot(state, position.seat, least)
    reached = state.scores[position.seat] + state.turn_total
    target = _game(position).target(state.options)
    if state.reached is None:
        return state.turn_total >= least or (target is not None and reached >= target)
    return _holds_at_last(state, position.seat, reached, least)


def _holds_at_last(state: State[Any], seat: int, reached: int, least: int) -> bool:
    """In the last round the lead is enough; in a playoff the others have a turn as well."""
    ahead = max((state.scores[other] for other in contenders(state) if other != seat), default=0)
    if reached < ahead:
        return False
    return state.turn_total >= least or (state.playoff is None and reached > ahead)


def _holds_for_pot(state: TurnsState, seat: int, least: int) -> bool:
    """A total that is not the best takes no pot; the last to play needs no more than the best."""
    playing = [other for other, bet in enumerate(state.bets) if bet and other not in state.out]
    if state.playoff is not None:
        playing = [other for other in playing if other in state.playoff]
    totals = [state.turn_totals[other] for other in playing if other != seat]
    best = max((total for total in totals if total is not None), default=LOST)
    if state.turn_total < best:
        return False
    return state.turn_total >= least or (None not in totals and state.turn_total > best)
