"""A token cache: a token or session is fetched once, shared by all callers, and fetched again before it expires."""

import asyncio
from collections.abc import Awaitable, Callable

from malipo.clock import loop_time

# The token, and for how many seconds it is good.
Token = tuple[str, float]


class TokenCache:
    def __init__(self, fetch: Callable[[], Awaitable[Token]]) -> None:
        self._fetch = fetch
        self._value: str | None = None
        self._good_until = 0.0
        self._fetching: asyncio.Task[str] | None = None

    async def get(self) -> str:
        """The value. Of several concurrent callers one fetches it, and all get its result or its exception."""
        if self._value is not None and loop_time() < self._good_until:
            return self._value
        if self._fetching is None:
            # A task of its own: a caller that is cancelled must not cancel it for the others.
            self._fetching = asyncio.get_running_loop().create_task(self._renew())
            self._fetching.add_done_callback(self._forget)
        return await asyncio.shield(self._fetching)

    def drop(self, value: str) -> None:
        """Drop it, unless another one was already fetched."""
        if self._value == value:
            self._value = None

    async def _renew(self) -> str:
        value, seconds = await self._fetch()
        self._value, self._good_until = value, loop_time() + seconds
        return value

    def _forget(self, fetching: asyncio.Task[str]) -> None:
        self._fetching = None
        if not fetching.cancelled():
            fetching.exception()  # Retrieved, even if every caller was cancelled.
