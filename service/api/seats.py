"""Seats: join, reveal a seed, rename, leave, replace a token, erase a name."""

from fastapi import APIRouter, Request, Response

from service.api import shapes, views
from service.api.contract import GAME_CHANGE, TOKEN, answers, asks
from service.api.handling import answered, caller, croupier, game_id, seat_number
from service.api.reading import read_model
from service.requests import Joining
from service.values import bytes_or_none

router = APIRouter(prefix="/v1", tags=["seats"])


@router.post(
    "/games/{id}/seats",
    status_code=201,
    openapi_extra=asks("Join", token=True, anybody=True),
    responses=answers(
        201,
        shapes.Seated,
        "The seat and its token, which is shown once",
        *GAME_CHANGE,
        "game_not_found",
        "seat_not_found",
        "name_taken",
        "game_started",
        "game_over",
        "roster_exhausted",
        "seat_taken",
        "game_full",
        "seed_refused",
    ),
)
async def join_game(id: str, request: Request) -> Response:
    """Join a game."""
    asked = await read_model(request, shapes.Join)
    asking = caller(request, asked.expected_version, anybody=True, tells_token=True)
    joining = Joining(
        name=asked.name,
        seat=asked.seat,
        saw=bytes_or_none(asked.saw),
        commit=bytes_or_none(asked.commit),
        seed=bytes_or_none(asked.seed),
    )
    joined = croupier(request).join(game_id(id), joining, asking, views.seated)
    return await answered(request, id, asking, joined)


@router.post(
    "/games/{id}/seats/{seat}/reveal",
    openapi_extra=asks("Reveal", token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The seed is public; the last one may start the game",
        *GAME_CHANGE,
        *TOKEN,
        "not_your_seat",
        "game_not_found",
        "seat_not_found",
        "seed_refused",
        "game_started",
        "game_over",
    ),
)
async def reveal_seed(id: str, seat: str, request: Request) -> Response:
    """Reveal the seed that a seat has committed to, once the roster is sealed."""
    asked = await read_model(request, shapes.Reveal)
    asking = caller(request, asked.expected_version)
    revealed = croupier(request).reveal(
        game_id(id), seat_number(seat), bytes.fromhex(asked.seed), asking, views.changed
    )
    return await answered(request, id, asking, revealed)


@router.patch(
    "/games/{id}/seats/{seat}",
    openapi_extra=asks("Rename", token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The game with the new name",
        *GAME_CHANGE,
        *TOKEN,
        "not_your_seat",
        "game_not_found",
        "seat_not_found",
        "name_taken",
        "roster_exhausted",
        "seed_refused",
        "game_started",
        "game_over",
    ),
)
async def rename_seat(id: str, seat: str, request: Request) -> Response:
    """Rename a seat before the start."""
    asked = await read_model(request, shapes.Rename)
    asking = caller(request, asked.expected_version)
    renamed = croupier(request).rename(
        game_id(id), seat_number(seat), asked.name, asking, views.changed
    )
    return await answered(request, id, asking, renamed)


@router.delete(
    "/games/{id}/seats/{seat}",
    openapi_extra=asks("Step", optional=True, token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The game with the seat open again",
        *GAME_CHANGE,
        *TOKEN,
        "not_your_seat",
        "game_not_found",
        "seat_not_found",
        "seed_refused",
        "game_started",
        "game_over",
    ),
)
async def leave_seat(id: str, seat: str, request: Request) -> Response:
    """Leave a seat before the start, or remove its player (host)."""
    asked = await read_model(request, shapes.Step, optional=True)
    asking = caller(request, asked.expected_version)
    left = croupier(request).leave(game_id(id), seat_number(seat), asking, views.changed)
    return await answered(request, id, asking, left)


@router.delete(
    "/games/{id}/seats/{seat}/name",
    openapi_extra=asks("Step", optional=True, token=True),
    responses=answers(
        200,
        shapes.Changed,
        "The game without the name; its log is what it was",
        *GAME_CHANGE,
        *TOKEN,
        "not_your_seat",
        "game_not_found",
        "seat_not_found",
        "game_not_over",
    ),
)
async def erase_name(id: str, seat: str, request: Request) -> Response:
    """Erase the name of a seat once the game is over (the seat or the host)."""
    asked = await read_model(request, shapes.Step, optional=True)
    asking = caller(request, asked.expected_version)
    erased = croupier(request).erase_name(game_id(id), seat_number(seat), asking, views.changed)
    return await answered(request, id, asking, erased)


@router.post(
    "/games/{id}/seats/{seat}/token",
    openapi_extra=asks("Step", optional=True, token=True),
    responses=answers(
        200,
        shapes.Seated,
        "The seat's new token, which is shown once; the old one is void",
        *GAME_CHANGE,
        *TOKEN,
        "game_not_found",
        "seat_not_found",
        "not_your_seat",
    ),
)
async def rotate_token(id: str, seat: str, request: Request) -> Response:
    """Replace a seat's token."""
    asked = await read_model(request, shapes.Step, optional=True)
    asking = caller(request, asked.expected_version, tells_token=True)
    rotated = croupier(request).rotate(game_id(id), seat_number(seat), asking, views.renewed)
    return await answered(request, id, asking, rotated)
