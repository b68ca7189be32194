"""The documentation is half a megabyte, and everybody may read it: who asks for it often delays no payment."""

import asyncio

from malipo.app.service import Service


async def test_large_answers_go_out_one_in_a_turn_of_the_loop(service: Service) -> None:
    turns = 0
    done: list[int] = []

    async def count() -> None:
        nonlocal turns
        while len(done) < 20:
            turns += 1
            await asyncio.sleep(0)

    async def answer() -> None:
        await service.wait_with_large_answer()
        done.append(turns)

    await asyncio.gather(count(), *(answer() for _ in range(20)))
    assert len(set(done)) == 20, "no two in one turn"
