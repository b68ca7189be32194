"""Large answers, which anybody may ask for: one goes out in a turn of the event loop, and payments are answered in
between."""

import asyncio

from malipo.turns import Turns

_SECONDS = 20


class LargeAnswers:
    def __init__(self) -> None:
        self._turns = Turns(1)

    async def wait(self) -> None:
        """Wait until it is the turn of this answer, however many others wait before it."""
        async with self._turns.taken(seconds=_SECONDS):
            await asyncio.sleep(0)
