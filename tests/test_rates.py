"""How often one caller may ask: the buckets by a clock of our own, then a real server."""

import asyncio
import re
import tracemalloc

import pytest

from service.api import views
from service.api.gate import Doors, Gate, Quotas
from service.api.handling import Sent
from service.api.problems import RateLimited, TooManyWaiting
from service.api.rates import WINDOW_S, Rate
from service.api.waiting import WaitingGames
from service.errors import GameFrozen, NameTaken
from service.requests import Caller, NewGame
from service.settings import read
from tests.game_client import bearer, create, new_game
from tests.hosted import run
from tests.raw import exchange, wire
from tests.server import Server
from tests.test_sweeper import damage
from tests.timed import house

POLICY = re.compile(r'"([a-z-]+)";q=(\d+);w=(\d+)')
STANDING = re.compile(r'"([a-z-]+)";r=(\d+);t=(\d+)')


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def taken(rate, times, caller="a"):
    return sum(rate.take(caller) > 0 for _ in range(times))


# --- buckets ------------------------------------------------------------------------------------


def test_a_quota_may_be_used_at_once_and_no_more(clock):
    assert taken(Rate("x", 60, clock), 100) == 60


def test_a_bucket_fills_again_as_fast_as_its_quota(clock):
    rate = Rate("x", 60, clock)
    taken(rate, 60)
    clock.now_s += 5.0001
    assert taken(rate, 100) == 5
    clock.now_s += 10 * WINDOW_S
    assert taken(rate, 100) == 60


def test_in_no_stretch_of_time_are_more_taken_than_quota_and_refill_give(clock):
    rate, given = Rate("x", 30, clock), 0
    for _ in range(1000):
        given += taken(rate, 1)
        clock.now_s += 0.5
    assert given <= 30 + 500 / WINDOW_S * 30 + 1
    assert given >= 500 / WINDOW_S * 30


def test_callers_have_a_bucket_each(clock):
    rate = Rate("x", 5, clock)
    assert [taken(rate, 10, name) for name in "abc"] == [5, 5, 5]


def test_who_waits_as_long_as_is_told_is_served(clock):
    rate = Rate("x", 7, clock)
    taken(rate, 7)
    used = rate.take("a")
    assert used < 0
    wait_s = int(dict(rate.headers(used))[b"retry-after"])
    clock.now_s += wait_s - 1
    assert taken(rate, 1) == 0
    clock.now_s += 1
    assert taken(rate, 1) == 1


def test_who_only_looks_takes_nothing(clock):
    rate = Rate("x", 2, clock)
    assert [rate.wait_s("a") for _ in range(5)] == [0.0] * 5
    taken(rate, 2)
    assert 0 < rate.wait_s("a") <= WINDOW_S / 2
    assert rate.wait_s("b") == 0.0


def test_what_is_told_counts_down(clock):
    rate = Rate("x", 3, clock)
    told = [dict(rate.headers(rate.take("a"))) for _ in range(4)]
    assert [one[b"ratelimit"].split(b";")[1] for one in told] == [b"r=2", b"r=1", b"r=0", b"r=0"]
    assert {one[b"ratelimit-policy"] for one in told} == {b'"x";q=3;w=60'}


def test_very_many_callers_do_not_fill_the_memory(clock):
    rate = Rate("x", 5, clock)
    tracemalloc.start()
    for number in range(140_000):
        rate.take(number)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 16 * 1024 * 1024


def test_a_bucket_in_use_is_not_the_one_that_is_forgotten(clock):
    rate = Rate("x", 5, clock)
    taken(rate, 4, "busy")
    for number in range(70_000):
        rate.take(number)
        if number == 50_000:
            rate.take("busy")
    assert taken(rate, 1, "busy") == 0


def test_a_clock_that_stands_still_or_goes_back_gives_nothing_away(clock):
    rate = Rate("x", 5, clock)
    taken(rate, 5)
    clock.now_s -= 3600
    assert taken(rate, 5) == 0


# --- the gate -----------------------------------------------------------------------------------


def scope(method, path, address="192.0.2.1", **headers):
    lines = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"method": method, "path": path, "client": (address, 5), "headers": lines}


def policies(gate, *asked, **headers):
    """The names of the policies that requests are counted under."""
    told = [dict(gate.admit(scope(method, path, **headers))) for method, path in asked]
    return [one.get(b"ratelimit-policy", b"").decode().partition(";")[0].strip('"') for one in told]


def test_each_kind_of_request_has_its_own_quota(clock):
    gate = Gate(Doors(quotas=Quotas(*[100] * 7)), clock)
    asked = {
        ("POST", "/v1/games"): "create",
        ("POST", "/v1/games/x/rematch"): "create",
        ("POST", "/v1/games/x/seats"): "join",
        ("POST", "/v1/games/x/actions"): "actions",
        ("POST", "/v1/games/x/start"): "actions",
        ("DELETE", "/v1/games/x/seats/0"): "actions",
        ("POST", "/nothing"): "actions",
        ("POST", "/v1/audits"): "audits",
        ("GET", "/v1/games"): "reads",
        ("HEAD", "/v1/games"): "reads",
        ("OPTIONS", "/v1/games"): "reads",
        ("GET", "/"): "reads",
        ("GET", "/livez"): "",
        ("GET", "/readyz"): "",
    }
    assert policies(gate, *asked) == list(asked.values())
    with_token = policies(gate, ("POST", "/v1/games/x/actions"), authorization="Bearer x")
    assert with_token == ["token"]


def test_without_a_quota_nothing_is_counted(clock):
    gate = Gate(Doors(), clock)
    for _ in range(1000):
        assert gate.admit(scope("POST", "/v1/games/x/actions", authorization="Bearer x")) == []
        gate.token_failed(scope("POST", "/v1/games/x/actions", authorization="Bearer x"))


def test_a_token_is_counted_wherever_it_comes_from(clock):
    gate = Gate(Doors(quotas=Quotas(actions=1000, token=5)), clock)
    for number in range(5):
        gate.admit(scope("POST", "/v1/games/x/actions", f"192.0.2.{number}", authorization="a"))
    with pytest.raises(RateLimited) as limited:
        gate.admit(scope("POST", "/v1/games/x/actions", "192.0.2.9", authorization="a"))
    assert limited.value.extras == {"policy": "token"}
    gate.admit(scope("POST", "/v1/games/x/actions", "192.0.2.9", authorization="b"))


def test_no_token_is_kept(clock):
    gate = Gate(Doors(quotas=Quotas(*[100] * 7)), clock)
    gate.admit(scope("POST", "/v1/games/x/actions", authorization="Bearer cub_seat_secret"))
    assert gate._token._full_at
    assert all(isinstance(key, int) for key in gate._token._full_at)


def test_an_ipv6_caller_is_the_network_that_it_has(clock):
    gate = Gate(Doors(quotas=Quotas(create=3)), clock)
    for number in range(3):
        gate.admit(scope("POST", "/v1/games", f"2001:db8::{number}"))
    with pytest.raises(RateLimited):
        gate.admit(scope("POST", "/v1/games", "2001:db8:0:0:ffff::1"))
    gate.admit(scope("POST", "/v1/games", "2001:db8:0:1::1"))
    mapped = {gate.caller(scope("GET", "/", one)) for one in ("::ffff:192.0.2.1", "192.0.2.1")}
    assert mapped == {"192.0.2.1"}


# Who asks, through which hops: (peer, X-Forwarded-For, the caller).
PROXIES = {
    "nobody in front": ("192.0.2.1", None, "192.0.2.1"),
    "a forged header": ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
    "one proxy": ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
    "two proxies": ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7"),
    "forged before a proxy": ("10.0.0.1", "1.2.3.4, 198.51.100.7", "198.51.100.7"),
    "forged as a proxy": ("10.0.0.1", "10.9.9.9, 198.51.100.7", "198.51.100.7"),
    "a proxy alone": ("10.0.0.1", None, "10.0.0.1"),
    "an empty header": ("10.0.0.1", "", "10.0.0.1"),
    "no address": ("10.0.0.1", "198.51.100.7, unknown", "10.0.0.1"),
    "rubbish further left": ("10.0.0.1", "<script>, 198.51.100.7", "198.51.100.7"),
    "a port": ("10.0.0.1", "198.51.100.7:1234", "10.0.0.1"),
    "IPv6": ("::1", "2001:db8::7", "2001:db8::/64"),
    "all of them proxies": ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
}


@pytest.mark.parametrize(("peer", "forwarded", "caller"), PROXIES.values(), ids=PROXIES.keys())
def test_who_asks_is_the_last_hop_that_is_no_trusted_proxy(clock, peer, forwarded, caller):
    gate = Gate(Doors(trusted=read(trusted_proxies="10.0.0.0/8,::1").proxies), clock)
    headers = {} if forwarded is None else {"x_forwarded_for": forwarded}
    assert gate.caller(scope("GET", "/", peer, **headers)) == caller


def test_two_lines_of_hops_are_one_list(clock):
    gate = Gate(Doors(trusted=read(trusted_proxies="10.0.0.0/8").proxies), clock)
    asked = scope("GET", "/", "10.0.0.1")
    name = b"x-forwarded-for"
    asked["headers"] = [(name, b"1.2.3.4"), (name, b"198.51.100.7"), (name, b"10.0.0.2")]
    assert gate.caller(asked) == "198.51.100.7"


# --- games that wait ----------------------------------------------------------------------------


async def made(waiting, one):
    """Whether there was a place for one more game."""
    wanted = NewGame("pig", {}, ("Ana", None))
    try:
        async with waiting.place("a", one.croupier):
            waiting.note("a", Sent(await one.croupier.create(wanted, Caller(), views.created)))
    except TooManyWaiting:
        return False
    return True


def test_creates_at_the_same_time_leave_no_more_games_than_may_wait(tmp_path):
    async def story():
        async with house(f"sqlite:///{tmp_path / 'cubilete.db'}", tmp_path) as one:
            waiting = WaitingGames(2)
            told = await asyncio.gather(*(made(waiting, one) for _ in range(5)))
            assert sum(told) == 2
            assert not await made(waiting, one)

    run(story())


def test_a_create_that_fails_gives_its_place_back(tmp_path):
    async def story():
        async with house(f"sqlite:///{tmp_path / 'cubilete.db'}", tmp_path) as one:
            waiting = WaitingGames(1)
            with pytest.raises(NameTaken):
                async with waiting.place("a", one.croupier):
                    raise NameTaken
            assert await made(waiting, one)

    run(story())


def test_a_game_that_is_frozen_keeps_nobody_from_creating(tmp_path):
    async def story():
        url = f"sqlite:///{tmp_path / 'cubilete.db'}"
        async with house(url, tmp_path) as one:
            waiting = WaitingGames(1)
            assert await made(waiting, one)
            (game_id,) = waiting._created["a"]
            damage(url, game_id, snapshot='{"version": "one"}')
            await one.store.freeze([game_id])  # which lets go of what is in memory
            with pytest.raises(GameFrozen):
                await one.croupier.read(game_id)
            assert await made(waiting, one)

    run(story())


# --- a real server ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    with Server(
        tmp_path_factory.mktemp("strict"),
        CUBILETE_RATE_CREATE="6",
        CUBILETE_RATE_JOIN="6",
        CUBILETE_RATE_ACTIONS="2000",
        CUBILETE_RATE_TOKEN="40",
        CUBILETE_RATE_AUDITS="4",
        CUBILETE_RATE_READS="300",
        CUBILETE_RATE_FAILED_TOKENS="10",
        CUBILETE_WAITING_GAMES="3",
        CUBILETE_TRUSTED_PROXIES="127.0.0.1",
    ) as running:
        yield running


@pytest.fixture
def from_address(strict):
    """A client behind the proxy that the test itself is; each address has its own quotas."""
    clients = []

    def client(address):
        clients.append(strict.client(headers={"X-Forwarded-For": address}))
        return clients[-1]

    yield client
    for one in clients:
        one.close()


def parts(pattern, text):
    """The name and the two numbers of a policy, or of how it stands."""
    match = pattern.fullmatch(text)
    assert match, text
    return match.groups()


def statuses(send, times):
    return [send().status_code for _ in range(times)]


def require_limited(answer, policy, quota):
    assert answer.status_code == 429
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["code"] == "rate_limited"
    assert answer.json()["policy"] == policy
    assert parts(POLICY, answer.headers["ratelimit-policy"]) == (policy, quota, "60")
    assert parts(STANDING, answer.headers["ratelimit"])[1] == "0"
    assert 1 <= int(answer.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("path", "body", "policy", "quota"),
    [
        ("/v1/games", new_game(), "create", 6),
        ("/v1/games/none/seats", {}, "join", 6),
        ("/v1/audits", {"log": []}, "audits", 4),
    ],
)
def test_a_quota_is_told_and_kept(from_address, path, body, policy, quota):
    client = from_address("198.51.100.1")
    for left in range(quota - 1, -1, -1):
        answer = client.post(path, json=body)
        assert answer.status_code != 429
        assert parts(STANDING, answer.headers["ratelimit"])[:2] == (policy, str(left))
    require_limited(client.post(path, json=body), policy, str(quota))
    assert from_address("198.51.100.2").post(path, json=body).status_code != 429
    spanish = client.post(path, json=body, headers={"Accept-Language": "es"})
    assert spanish.json()["title"] == "Demasiadas peticiones"


def test_a_forged_hop_gains_nothing(strict, from_address):
    """A header that changes with every request is read up to what the proxy has written."""
    with strict.client() as client:
        told = [
            client.post(
                "/v1/games",
                json=new_game(),
                headers={"X-Forwarded-For": f"203.0.113.{number}, 198.51.100.3"},
            ).status_code
            for number in range(12)
        ]
    assert told == [201] * 6 + [429] * 6


def test_the_header_of_who_is_no_proxy_is_not_read(tmp_path):
    with Server(tmp_path / "plain", CUBILETE_RATE_CREATE="5") as plain, plain.client() as client:
        told = [
            client.post(
                "/v1/games", json=new_game(), headers={"X-Forwarded-For": f"203.0.113.{number}"}
            ).status_code
            for number in range(12)
        ]
    assert told == [201] * 5 + [429] * 7


def test_actions_are_counted_by_token_and_nothing_is_done_beyond(from_address):
    client = from_address("198.51.100.4")
    table = create(client, options={"starter": "seat", "target": 10_000})
    other = create(client, options={"starter": "seat", "target": 10_000})
    while (answer := table.act(table.read()["to_act"][0], "roll")).status_code == 200:
        assert parts(POLICY, answer.headers["ratelimit-policy"])[0] == "token"
    require_limited(answer, "token", "40")
    version = table.read()["version"]
    assert table.act(table.read()["to_act"][0], "hold").status_code == 429
    assert table.read()["version"] == version
    assert other.act(0, "roll").status_code == 200


def test_who_tries_tokens_has_to_wait(from_address):
    client = from_address("198.51.100.5")
    table = create(client)
    forged = [bearer(f"cub_host_{number:043d}") for number in range(12)]
    told = [client.post(f"{table.path}/start", headers=one) for one in forged]
    assert [answer.status_code for answer in told] == [401] * 10 + [429] * 2
    require_limited(told[-1], "failed-tokens", "10")
    assert table.send("POST", "/void", token=table.host).status_code == 429
    assert client.get(table.path).status_code == 200
    elsewhere = from_address("198.51.100.6")
    answer = elsewhere.post(f"{table.path}/void", headers=bearer(table.host))
    assert answer.status_code != 429


def test_health_is_told_to_whoever_asks(from_address):
    client = from_address("198.51.100.7")
    told = statuses(lambda: client.get("/v1/rulesets/none"), 330)
    assert set(told[:300]) == {404}
    assert 429 in told
    assert client.get("/livez").status_code == client.get("/readyz").status_code == 200


def test_a_refusal_is_counted_as_well(from_address):
    client = from_address("198.51.100.8")
    assert statuses(lambda: client.post("/v1/games", json={}), 8) == [422] * 6 + [429] * 2


def test_only_so_many_games_of_one_caller_wait(from_address):
    client = from_address("198.51.100.9")
    waiting = [create(client, names=["Ana", None]) for _ in range(3)]
    answer = client.post("/v1/games", json=new_game(names=["Ana", None]))
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_waiting")
    assert answer.json()["limit"] == 3
    assert waiting[0].send("POST", "/void", token=waiting[0].host).status_code == 200
    assert client.post("/v1/games", json=new_game(names=["Ana", None])).status_code == 201
    assert from_address("198.51.100.10").post("/v1/games", json=new_game()).status_code == 201


def test_a_rematch_that_waits_counts_as_a_game_that_waits(from_address):
    client = from_address("198.51.100.11")
    table = create(client, start=False)
    assert table.post("/start").status_code == 200
    table.act(0, "resign")
    again = table.post("/rematch")
    assert (again.status_code, again.json()["game"]["status"]) == (201, "waiting")
    told = statuses(lambda: client.post("/v1/games", json=new_game(names=["Ana", None])), 3)
    assert told == [201, 201, 429]


def test_an_answer_that_has_not_been_counted_says_nothing_of_it(server):
    answer = exchange(server, wire("GET", "/livez"))
    assert "ratelimit" not in answer.headers
