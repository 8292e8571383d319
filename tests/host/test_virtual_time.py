"""Time that passes only when it would be waited for."""

from __future__ import annotations

import asyncio

from dashboard.host.virtual_time import VirtualTime


def test_hours_pass_in_a_moment_and_in_order() -> None:
    time = VirtualTime(5_000_000)
    told: list[tuple[str, int]] = []

    async def tell(name: str, after: float) -> None:
        await asyncio.sleep(after)
        told.append((name, time.clock()))

    async def both() -> None:
        await asyncio.gather(tell("late", 7_200), tell("early", 60))

    time.run(both())
    assert told == [("early", 65_000_000), ("late", 7_205_000_000)]


def test_a_blocking_tool_takes_its_45_milliseconds() -> None:
    time = VirtualTime(0)
    assert time.run(time.run_blocking(lambda: "done")) == "done"
    assert time.clock() == 45_000


def test_a_time_out_fires_at_its_virtual_instant() -> None:
    time = VirtualTime(0)

    async def wait() -> bool:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 3_600)
        except TimeoutError:
            return True
        return False

    assert time.run(wait())
    assert time.clock() == 3_600_000_000
