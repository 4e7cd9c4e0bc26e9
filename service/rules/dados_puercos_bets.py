"""Dados puercos, the betting of mode ``turns`` (``docs/rules/dados-puercos.md``). Pure.

Every bet is a small game: its starter names an amount, the others answer, those who bet take one
turn each, and the best turn total takes the pot. Each function decides one clause and adds its
events to the course of the action.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from service.rules.base import Action, Bet, LegalAction, Pass, Reason
from service.rules.dados_puercos_state import (
    LOST,
    BetOpened,
    BetPlaced,
    Passed,
    PotCarried,
    PotShared,
    PotWon,
    StakesReturned,
    TurnsState,
    asked,
)
from service.rules.jeopardy_state import (
    Course,
    GameWon,
    PlayoffStarted,
    TurnStarted,
    best,
    playoff_decided,
    still_in,
)

Table: TypeAlias = Course[Any]  # of a TurnsState


def clockwise(state: TurnsState, first: int) -> list[int]:
    """The seats still in, clockwise from this one."""
    seats = ((first + place) % state.seats for place in range(state.seats))
    return [seat for seat in seats if seat not in state.out]


def bettors(state: TurnsState) -> list[int]:
    """The seats that play for the pot, from the starter on; in a playoff only those tied."""
    staked = tuple(seat for seat, bet in enumerate(state.bets) if bet)
    playing = staked if state.playoff is None else state.playoff
    return [seat for seat in clockwise(state, state.starter) if seat in playing]


# --- answering ----------------------------------------------------------------------------------


def named(state: TurnsState) -> int:
    """The amount of this bet, 0 until its starter has named it."""
    return max(bet or 0 for bet in state.bets)


def bounds(state: TurnsState, seat: int) -> tuple[int, int]:
    """What a seat may stake: the starter 1 .. its own chips (or the fixed stake), the others the
    same amount as the starter."""
    amount = named(state) or state.options.stake
    return (amount, amount) if amount else (1, state.chips[seat])


def legal_answers(state: TurnsState, seat: int) -> tuple[LegalAction, ...]:
    """The starter must bet and cannot pass; a seat that cannot pay the amount is asked all the
    same and may only pass."""
    low, high = bounds(state, seat)
    bet = (LegalAction(seat, "bet", min=low, max=high),) if state.chips[seat] >= low else ()
    return (*bet, LegalAction(seat, "pass")) if named(state) else bet


def answer_refusal(state: TurnsState, seat: int, action: Action) -> str:
    """Why the seat that is asked may not answer so."""
    if isinstance(action, Pass):
        return "must_bet"
    if not isinstance(action, Bet):
        return "not_in_phase"
    low, _ = bounds(state, seat)
    if state.chips[seat] < low:
        return "cannot_pay"
    return "below_minimum" if action.amount < low else "above_maximum"


def bet(table: Table, seat: int, amount: int) -> None:
    """The seat stakes the amount."""
    table.add(BetPlaced(seat=seat, amount=amount))
    after_answer(table)


def sit_out(table: Table, seat: int) -> None:
    """The seat sits this bet out, and has no claim on a carried pot."""
    table.add(Passed(seat=seat))
    after_answer(table)


def after_answer(table: Table) -> None:
    """Once all have answered, those who bet play. Fewer than two: the stakes go back, nobody
    throws, and the bet counts as played."""
    state: TurnsState = table.state
    if asked(state) is not None:
        return
    if len(bettors(state)) < 2:
        return_stakes(table)
        next_bet(table)
    else:
        next_bettor(table)


def after_resignation(table: Table) -> None:
    """A seat that resigns before it has answered sits the bet out. If it was the starter, and had
    not named an amount, the bet is opened anew."""
    state: TurnsState = table.state
    if not named(state) and state.starter in state.out:
        open_bet(table, state.round)
    else:
        after_answer(table)


# --- playing for the pot ------------------------------------------------------------------------


def next_bettor(table: Table) -> None:
    """Those who bet take one turn each, from the starter on. A seat that resigns loses its bet
    like one that busts; the last seat left in a playoff takes the pot."""
    state: TurnsState = table.state
    playing = bettors(state)
    to_play = [seat for seat in playing if state.turn_totals[seat] is None]
    if playoff_decided(state):
        take_pot(table, playing[0])
    elif to_play:
        table.add(TurnStarted(seat=to_play[0], round=state.round))
    else:
        settle(table, playing)


def settle(table: Table, playing: Sequence[int]) -> None:
    """The highest turn total that did not bust takes the pot; a total of 0 contends like any
    other."""
    state: TurnsState = table.state
    totals = {seat: total for seat in playing if (total := state.turn_totals[seat]) is not None}
    leaders = best([seat for seat in totals if totals[seat] != LOST], totals)
    if not leaders:
        all_bust(table, playing)
    elif len(leaders) == 1:
        take_pot(table, leaders[0])
    else:
        tie(table, leaders)


def take_pot(table: Table, seat: int) -> None:
    """The seat wins the pot, with what earlier bets left in it."""
    table.add(PotWon(seat=seat, amount=table.state.pot))
    next_bet(table)


def all_bust(table: Table, playing: Sequence[int]) -> None:
    """Nobody has a turn total. In a playoff all of those tied play again; else the pot is carried,
    or each bettor still in takes its own stake back and the rest stays in the pot (``return``)."""
    state: TurnsState = table.state
    if state.playoff is not None and playing:
        play_off(table, playing)
        return
    if state.playoff is None and state.options.all_bust == "return":
        return_stakes(table)
    else:
        table.add(PotCarried(amount=state.pot))
    next_bet(table)


def tie(table: Table, leaders: Sequence[int]) -> None:
    """The best turn total shared by several: equal shares, and what does not divide stays for the
    next pot (``split``); one more turn each (``playoff``); or the pot is carried (``carry``)."""
    state: TurnsState = table.state
    if state.options.tie == "playoff":
        play_off(table, leaders)
        return
    if state.options.tie == "split":
        each = state.pot // len(leaders)
        table.add(PotShared(seats=tuple(leaders), amounts=(each,) * len(leaders)))
    else:
        table.add(PotCarried(amount=state.pot))
    next_bet(table)


def play_off(table: Table, seats: Sequence[int]) -> None:
    """The tied take one more turn each until one leads."""
    table.add(PlayoffStarted(seats=tuple(sorted(seats))))
    next_bettor(table)


# --- the pot and the session --------------------------------------------------------------------


def return_stakes(table: Table) -> None:
    """Each bettor still in takes its own stake back."""
    state: TurnsState = table.state
    stakes = {seat: bet for seat, bet in enumerate(state.bets) if seat in bettors(state)}
    amounts = tuple(bet or 0 for bet in stakes.values())
    if stakes:
        table.add(StakesReturned(seats=tuple(stakes), amounts=amounts))


def shares(pot: int, count: int) -> tuple[int, ...]:
    """Equal shares of a pot; the remainder goes to the lowest seats, one chip each."""
    each, rest = divmod(pot, count)
    return tuple(each + (place < rest) for place in range(count))


def share_pot(table: Table, seats: Sequence[int]) -> None:
    """The pot goes to these seats, if there is any."""
    pot = table.state.pot
    if pot and len(seats) == 1:
        table.add(PotWon(seat=seats[0], amount=pot))
    elif pot:
        table.add(PotShared(seats=tuple(seats), amounts=shares(pot, len(seats))))


def next_bet(table: Table) -> None:
    """The session ends after ``bets`` bets."""
    state: TurnsState = table.state
    if state.round >= state.options.bets:
        end_session(table, "bets_played")
    else:
        open_bet(table, state.round + 1)


def open_bet(table: Table, number: int) -> None:
    """The next starter is the first after the last one (``rotate_starter``: else from it on) that
    is in and can pay. The session ends when fewer than two seats can pay 1 chip, or when nobody
    can pay the fixed stake."""
    state: TurnsState = table.state
    price = state.options.stake or 1
    order = clockwise(state, state.starter + state.options.rotate_starter)
    starters = [seat for seat in order if state.chips[seat] >= price]
    if sum(state.chips[seat] >= 1 for seat in order) < 2 or not starters:
        end_session(table, "no_chips")
    else:
        table.add(BetOpened(seat=starters[0], round=number))


def end_session(table: Table, reason: Reason) -> None:
    """A left-over pot is split among the seats still in; the most chips win, and ties share."""
    share_pot(table, still_in(table.state))
    state: TurnsState = table.state
    winners = best(still_in(state), state.chips)
    table.add(GameWon(seats=tuple(winners), reason=reason))


def chips_without_throws(state: TurnsState) -> tuple[int, ...]:
    """When no throw is left: every bet that is not lost yet goes back to its seat, and the rest
    of the pot is split among the seats still in."""
    chips = list(state.chips)
    rest = state.pot
    for seat in bettors(state):
        if state.turn_totals[seat] != LOST:
            stake = state.bets[seat] or 0
            chips[seat] += stake
            rest -= stake
    remaining = still_in(state)
    for seat, share in zip(remaining, shares(rest, len(remaining)), strict=True):
        chips[seat] += share
    return tuple(chips)
