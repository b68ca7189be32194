"""The documentation is half a megabyte, and everybody may read it: who asks for it often delays no payment."""

import asyncio

from malipo.api.large_answers import LargeAnswers


async def test_large_answers_go_out_one_in_a_turn_of_the_loop() -> None:
    large_answers, turns = LargeAnswers(), 0
    done: list[int] = []

    async def count() -> None:
        nonlocal turns
        while len(done) < 20:
            turns += 1
            await asyncio.sleep(0)

    async def answer() -> None:
        await large_answers.wait()
        done.append(turns)

    await asyncio.gather(count(), *(answer() for _ in range(20)))
    assert len(set(done)) == 20, "no two in one turn"
