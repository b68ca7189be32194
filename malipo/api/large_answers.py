"""Large answers, which anybody may request: each turn of the event loop sends one, so that payments are answered in
between."""

import asyncio

from malipo.turns import Turns

_SECONDS = 20


class LargeAnswers:
    def __init__(self) -> None:
        self._turns = Turns(1)

    async def wait(self) -> None:
        """Wait for the turn of this answer."""
        async with self._turns.taken(seconds=_SECONDS):
            await asyncio.sleep(0)
