"""Token authentication: calls under a token or session, fetched once, shared by all, and anew when the network refuses
it.

All steps of a call share one deadline, so that a slow token cannot make it take twice the time.
"""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from malipo.networks.connector import Answer, FailureCode, Verdict
from malipo.networks.http.client import Lost, Reply, Unsent
from malipo.networks.token_cache import TokenCache

# With what is authorised, and in how many seconds it must be done.
Request = Callable[[str, float], Awaitable[Reply | Unsent | Lost]]


class NoToken(Exception):  # noqa: N818
    """There is no token, so nothing was sent."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.code)
        self.answer = answer


def nothing_sent(code: str, detail: str = "") -> Answer:
    """Provably nothing was accepted, and the network or the connection to it has a fault."""
    return Answer(verdict=Verdict.UNSENT, code=code, detail=detail, is_fault=True)


def misconfigured(network: str, code: str, detail: str) -> Answer:
    """It refused us and not the customer, before any payment: only an operator can fix that."""
    return Answer(
        verdict=Verdict.REFUSED,
        code=code,
        detail=detail,
        failure_code=FailureCode.REJECTED,
        refuses_us=True,
        alert=f"{network} refuses us: {code} {detail}".strip(),
    )


def failed_query(answer: Answer) -> Answer:
    """A failed query says nothing about the payment."""
    return replace(answer, verdict=Verdict.UNKNOWN, failure_code=None)


class TokenAuth:
    """`fetch` returns a token and for how long it is good, or raises NoToken."""

    def __init__(self, fetch: Callable[[], Awaitable[tuple[str, float]]], *, timeout_seconds: float) -> None:
        self._fetch = fetch
        self._token = TokenCache(fetch)
        self._timeout_seconds = timeout_seconds

    async def probe(self, *, code: str = "token") -> Answer:
        """Fetching a new token is harmless, and shows that the network is up."""
        try:
            await self._fetch()
        except NoToken as error:
            return error.answer
        return Answer(verdict=Verdict.WAITING, code=code)

    async def call(self, request: Request, *, is_over: Callable[[Reply], bool]) -> Reply | Answer:
        """The network's reply, whatever it says, or what to make of there being none.

        A reply that says that the token has expired is returned only if it came twice.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        token, reply = await self._try(request, deadline)
        if isinstance(reply, Reply) and is_over(reply):
            self._token.drop(token)
            _, reply = await self._try(request, deadline)
        return reply

    async def _try(self, request: Request, deadline: float) -> tuple[str, Reply | Answer]:
        try:
            async with asyncio.timeout_at(deadline):
                token = await self._token.get()
        except NoToken as error:
            return "", error.answer
        except TimeoutError:
            return "", nothing_sent("token", "no token in time")
        reply = await request(token, max(deadline - asyncio.get_running_loop().time(), 0.001))
        if isinstance(reply, Unsent):
            return token, nothing_sent("unsent", reply.reason)
        if isinstance(reply, Lost):
            return token, Answer(verdict=Verdict.UNKNOWN, code="lost", detail=reply.reason, is_fault=True)
        return token, reply
