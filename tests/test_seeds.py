"""Player seeds over HTTP: join with a commit or a seed, seal, reveal, start, void."""

import pytest

from service.dice import client_commit
from service.verify import verify_log
from tests.player import Player

SEEDS = [bytes([number + 1]) * 32 for number in range(3)]


def sealed_table(player: Player, commits: tuple[int, ...] = (0, 1), **body: object) -> None:
    """Seat n joins, with a commit to SEEDS[n] if n is in ``commits``; the host seals."""
    player.create("big-pig", None, None, seed_mode="sealed", options={"target": 20}, **body)
    for seat in (0, 1):
        commit = client_commit(player.game["id"], SEEDS[seat]).hex()
        seeded = {"commit": commit, "saw": player.commitment} if seat in commits else {}
        player.join(name=f"P{seat}", **seeded)
    player.ask("POST", f"{player.path}/seal", None, player.host)


def reveal(player: Player, seat: int, seed: bytes, status: int = 0) -> dict[str, object]:
    path = f"{player.path}/seats/{seat}/reveal"
    return player.ask("POST", path, {"seed": seed.hex()}, player.seats[seat], status)


def test_a_sealed_game_starts_with_the_last_reveal_and_its_log_verifies(player: Player) -> None:
    sealed_table(player)
    reveal(player, 1, SEEDS[1])
    assert player.game["status"] == "waiting"
    reveal(player, 0, SEEDS[0])
    assert player.game["status"] == "playing"
    shown = [(seat["seat"], seat["seed"]) for seat in player.game["dice"]["seeds"]]
    assert shown == [(0, SEEDS[0].hex()), (1, SEEDS[1].hex())]
    player.play()
    report = verify_log(
        player.log(), claim="finished", receipts=player.receipts[-1:], public_keys=keys(player)
    )
    assert report.ok, report.text()


def keys(player: Player) -> list[str]:
    told = player.client.get("/.well-known/fair-dice.json").json()
    return [key["public_key"] for key in told["keys"]]


def test_a_seat_may_play_without_a_commit_but_not_all_may(player: Player) -> None:
    sealed_table(player, commits=(1,))
    reveal(player, 1, SEEDS[1])
    assert player.game["status"] == "playing"
    player.create("big-pig", "Ana", "Ben", seed_mode="sealed")
    told = player.ask("POST", f"{player.path}/seal", None, player.host, 409)
    assert told["reason"] == "no_commit"


@pytest.mark.parametrize(
    ("seat", "seed", "reason"),
    [(0, SEEDS[1], "not_the_seed"), (0, SEEDS[0], None), (1, SEEDS[0], "no_commit")],
)
def test_a_reveal_must_be_the_seed_committed_to(
    player: Player, seat: int, seed: bytes, reason: str | None
) -> None:
    sealed_table(player, commits=(0,), start=False)
    told = reveal(player, seat, seed, 409 if reason else 0)
    assert told.get("reason") == reason


def test_a_seed_is_revealed_once_and_by_its_own_seat(player: Player) -> None:
    sealed_table(player)
    path, body = f"{player.path}/seats/0/reveal", {"seed": SEEDS[0].hex()}
    assert player.ask("POST", path, body, player.seats[1], 403)["code"] == "not_your_seat"
    assert player.ask("POST", path, body, player.host, 403)["code"] == "not_your_seat"
    reveal(player, 0, SEEDS[0])
    assert reveal(player, 0, SEEDS[0], 409)["reason"] == "seed_given"


def test_at_a_hot_seat_the_host_reveals(player: Player) -> None:
    sealed_table(player, hotseat=True)
    path, body = f"{player.path}/seats/0/reveal", {"seed": SEEDS[0].hex()}
    player.ask("POST", path, body, player.host)


def test_nothing_is_revealed_before_the_roster_is_sealed_and_nobody_moves_after(
    player: Player,
) -> None:
    player.create("pig", None, None, seed_mode="sealed")
    commit = client_commit(player.game["id"], SEEDS[0]).hex()
    player.join(commit=commit, saw=player.commitment)
    assert reveal(player, 0, SEEDS[0], 409)["reason"] == "not_sealed"
    body = {"commit": commit, "saw": player.commitment}
    copied = player.ask("POST", f"{player.path}/seats", body, None, 409)
    assert copied["reason"] == "copied_commit"
    told = player.ask("POST", f"{player.path}/seal", None, player.host, 409)
    assert told["code"] == "seats_open"
    player.join()
    player.ask("POST", f"{player.path}/seal", None, player.host)
    left = player.ask("DELETE", f"{player.path}/seats/1", None, player.seats[1], 409)
    assert left["reason"] == "sealed"
    assert player.ask("POST", f"{player.path}/seal", None, player.host, 409)["reason"] == "sealed"
    started = player.ask("POST", f"{player.path}/start", None, player.host, 409)
    assert (started["code"], started["seats"]) == ("seeds_missing", [0])


def test_the_host_blames_nobody_before_the_seeds_are_overdue(player: Player) -> None:
    sealed_table(player)
    reveal(player, 0, SEEDS[0])
    player.ask("POST", f"{player.path}/void", None, player.host)
    assert player.game["ended"] == {"reason": "host", "seats": []}
    assert player.game["dice"]["root"] is not None
    assert verify_log(player.log(), claim="void").ok


def test_whoever_adds_to_the_dice_has_seen_the_commitment(player: Player) -> None:
    player.create("pig", None, None, seed_mode="open")
    path, seed = f"{player.path}/seats", SEEDS[0].hex()
    missing = player.ask("POST", path, {"seed": seed}, None, 422)
    assert missing["errors"][0]["code"] == "missing"
    other = player.ask("POST", path, {"seed": seed, "saw": "0" * 64}, None, 422)
    assert other["errors"][0]["code"] == "not_the_commitment"
    player.join(seed=seed, saw=player.commitment)


def test_an_open_game_takes_one_seed_and_not_a_second(player: Player) -> None:
    player.create("pig", None, None, None, seed_mode="open")
    seeded = {"seed": SEEDS[0].hex(), "saw": player.commitment}
    player.join(**seeded)
    refused = player.ask("POST", f"{player.path}/seats", seeded, None, 409)
    assert refused["reason"] == "second_seed"
    player.join()
    player.join()
    assert player.game["status"] == "playing"
    assert verify_log(player.log()).ok


def test_the_last_seat_of_an_open_game_gives_the_seed_that_is_missing(player: Player) -> None:
    player.create("pig", "Ana", None, seed_mode="open")
    refused = player.ask("POST", f"{player.path}/seats", {}, None, 409)
    assert refused["reason"] == "seed_missing"


def test_leaving_with_a_given_seed_voids_an_open_game(player: Player) -> None:
    player.create("pig", None, None, seed_mode="open")
    player.join(seed=SEEDS[0].hex(), saw=player.commitment)
    player.ask("DELETE", f"{player.path}/seats/0", None, player.seats[0])
    assert (player.game["status"], player.game["ended"]["reason"]) == ("void", "left")
    assert verify_log(player.log(), claim="void").ok


@pytest.mark.parametrize("mode", ["operator", "practice"])
@pytest.mark.parametrize("field", ["seed", "commit"])
def test_other_modes_take_no_seed(player: Player, mode: str, field: str) -> None:
    root = {"seed": "7" * 64} if mode == "practice" else {}
    player.create("pig", None, None, seed_mode=mode, **root)
    body = {field: SEEDS[0].hex(), "saw": player.commitment}
    refused = player.ask("POST", f"{player.path}/seats", body, None, 409)
    assert refused["reason"] == "not_in_seed_mode"


def test_a_renamed_seat_keeps_its_commit(player: Player) -> None:
    player.create("pig", None, None, seed_mode="sealed")
    commit = client_commit(player.game["id"], SEEDS[0]).hex()
    player.join(name="Ana", commit=commit, saw=player.commitment)
    player.ask("PATCH", f"{player.path}/seats/0", {"name": "Eva"}, player.seats[0])
    assert player.game["players"][0]["name"] == "Eva"
    assert player.game["dice"]["seeds"] == [{"seat": 0, "commit": commit, "seed": None}]


def test_a_rematch_of_a_sealed_game_keeps_the_seats_for_their_tokens(player: Player) -> None:
    sealed_table(player)
    reveal(player, 0, SEEDS[0])
    reveal(player, 1, SEEDS[1])
    player.play()
    player.ask("POST", f"{player.path}/rematch", None, player.host)
    assert [seat["kind"] for seat in player.game["players"]] == [None, None]
    full = player.ask("POST", f"{player.path}/seats", {"name": "Eve"}, None, 409)
    assert full["code"] == "game_full"
    for seat in (1, 0):
        commit = client_commit(player.game["id"], SEEDS[seat]).hex()
        body = {"commit": commit, "saw": player.commitment}
        joined = player.ask("POST", f"{player.path}/seats", body, player.seats[seat])
        assert (joined["seat"], joined["token"]) == (seat, player.seats[seat])
    player.ask("POST", f"{player.path}/seal", None, player.host)
    reveal(player, 0, SEEDS[0])
    reveal(player, 1, SEEDS[1])
    assert player.game["status"] == "playing"


def kept_table(player: Player) -> None:
    """The rematch of a sealed game, whose two seats are kept."""
    sealed_table(player)
    for seat in (0, 1):
        reveal(player, seat, SEEDS[seat])
    player.play()
    player.ask("POST", f"{player.path}/rematch", None, player.host)


def test_the_token_of_a_kept_seat_takes_no_other_seat(player: Player) -> None:
    kept_table(player)
    path = f"{player.path}/seats"
    refused = player.ask("POST", path, {"seat": 0}, player.seats[1], 422)
    wrong = [(one["pointer"], one["code"]) for one in refused["errors"]]
    assert wrong == [("/seat", "not_the_kept_seat")]
    assert player.ask("POST", path, {"seat": 1}, player.seats[1])["seat"] == 1


def test_who_comes_back_to_a_kept_seat_may_take_a_new_name(player: Player) -> None:
    kept_table(player)
    path = f"{player.path}/seats"
    before = [seat["name"] for seat in player.game["players"]]
    taken = player.ask("POST", path, {"name": before[0]}, player.seats[1], 409)
    assert taken["code"] == "name_taken"
    player.ask("POST", path, {"name": "Eve"}, player.seats[1])
    player.ask("POST", path, {}, player.seats[0])
    assert [seat["name"] for seat in player.game["players"]] == [before[0], "Eve"]


def test_a_seat_kept_in_a_rematch_can_be_given_up_and_is_open_then(player):
    kept_table(player)
    waiting = {"ruleset": "big-pig", "status": "waiting", "open_seats": "true", "limit": "100"}
    listed = player.client.get("/v1/games", params=waiting).json()["games"]
    assert player.game["id"] not in [game["id"] for game in listed]
    told = player.ask("DELETE", f"{player.path}/seats/1", None, player.host)
    assert told["entry"] is None
    listed = player.client.get("/v1/games", params=waiting).json()["games"]
    assert player.game["id"] in [game["id"] for game in listed]
    assert player.join(name="Eve")["seat"] == 1
