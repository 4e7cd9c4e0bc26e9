"""The one source of time: the database's, where several machines share one."""

import time

from service.server_time import ServerTime
from tests.hosted import opened, run


class Machine:
    """Its clock, which somebody sets, and how long it has been running."""

    def __init__(self, wall: int) -> None:
        self.wall, self.steady = wall, 5_000
        self.clock = ServerTime(lambda: self.wall, lambda: self.steady)

    def wait(self, ms: int) -> None:
        self.wall += ms
        self.steady += ms


async def told() -> int:
    return 1_000_000


def test_alone_it_is_the_time_of_the_machine():
    async def nothing() -> None:
        return None

    async def story() -> None:
        machine = Machine(7_000)
        await machine.clock.keep_to(nothing)
        machine.wait(5)
        assert machine.clock.now() == 7_005

    run(story())


def test_machines_whose_clocks_differ_agree_on_the_time_of_the_database():
    async def story() -> None:
        machines = [Machine(wall) for wall in (0, 86_400_000, -3_600_000)]
        for machine in machines:
            await machine.clock.keep_to(told)
            machine.wait(250)
        assert {machine.clock.now() for machine in machines} == {1_000_250}

    run(story())


def test_a_machine_whose_clock_is_set_keeps_the_time():
    async def story() -> None:
        machine = Machine(0)
        await machine.clock.keep_to(told)
        machine.wall += 86_400_000
        assert machine.clock.now() == 1_000_000

    run(story())


def test_the_answer_is_the_time_of_the_middle_of_the_question():
    async def story() -> None:
        machine = Machine(0)

        async def slow() -> int:
            machine.wait(100)
            return 1_000_000

        await machine.clock.keep_to(slow)
        assert machine.clock.now() == 1_000_050

    run(story())


def test_postgresql_tells_its_time_and_sqlite_has_none_of_its_own(database_url):
    async def story() -> None:
        async with opened(database_url) as store:
            found = await store.time()
            if database_url.startswith("sqlite"):
                assert found is None
            else:
                assert found is not None
                assert abs(found - time.time() * 1000) < 5_000

    run(story())
