"""A banker and bettor for Paraíso y Nueve. Pure."""

from service.bots.base import PLAIN, Position, amounting
from service.rules.base import Action
from service.rules.heaven_and_nine_state import HeavenAndNineState


def careful(position: Position) -> Action:
    """As banker it sets a limit at which all bets together can cost it half of its chips, because
    the bank has the edge; as bettor it stakes a tenth of its chips."""
    state: HeavenAndNineState = position.state
    chips = state.chips[position.seat]
    limit, bet = position.offer("set_limit"), position.offer("bet")
    if limit is not None:
        bettors = sum(seat != position.seat for seat in state.able)
        return amounting(limit, chips // (2 * max(bettors, 1)))
    if bet is not None:
        return amounting(bet, chips // 10)
    return PLAIN[position.legal[0].kind]
