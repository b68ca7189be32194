"""The HTTP calls of a connector: the token, its renewal, the deadline, and the answer when there is no reply.

What every connector does the same is here. A connector adds its wire: addresses, headers, bodies and replies. All steps
of a call share one deadline, so that a slow token cannot make it take twice the time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from malipo.clock import loop_time
from malipo.networks.answers import lost, misconfigured, nothing_sent
from malipo.networks.connector import Answer, Verdict
from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent
from malipo.networks.http.connection import MOST_OF_A_BODY
from malipo.networks.token_cache import Token, TokenCache


class NoToken(Exception):  # noqa: N818
    """There is no token, so nothing was sent."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.code)
        self.answer = answer


def reply_or_answer(reply: Reply | RequestUnsent | ReplyLost) -> Reply | Answer:
    """The network's reply, or the answer that stands for there being none."""
    if isinstance(reply, Reply):
        return reply
    return nothing_sent("unsent", reply.reason) if isinstance(reply, RequestUnsent) else lost(reply.reason)


def refused_by_401(network: str) -> Callable[[Reply], Answer | None]:
    """How most networks reject a token."""

    def refusal(reply: Reply) -> Answer | None:
        return misconfigured(network, "HTTP 401", "the token is not accepted") if reply.status == 401 else None

    return refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWire:
    """How one network gives out its token, and how a request carries it."""

    request: Callable[[], Awaitable[Reply | RequestUnsent | ReplyLost]]  # the request for a new token
    read: Callable[[Reply], Token | Answer]  # the token in the reply to that, or why there is none
    headers: Callable[[str, bytes | None], Mapping[str, str]]  # of a request with this token and this body
    # The answer to a payment whose token a reply rejects; None if the reply is about something else.
    refusal: Callable[[Reply], Answer | None]
    called: str = "token"


class TokenCalls:
    """Calls under a token or session, which is fetched once, shared by all calls, and renewed when it is rejected."""

    def __init__(self, http_client: HttpClient, wire: TokenWire, *, base: str, timeout_seconds: float) -> None:
        self._http_client = http_client
        self._wire = wire
        self._base = base.rstrip("/") + "/" if base else ""
        self._timeout_seconds = timeout_seconds
        self._token = TokenCache(self._fetch)

    async def call(
        self, method: str, path: str, body: bytes | None = None, *, most_of_a_body: int = MOST_OF_A_BODY
    ) -> Reply | Answer:
        """The network's reply, whatever it says, or what to make of there being none.

        A reply that rejects the token renews it, and the same bytes are sent once more.
        """
        url = self._base + path.lstrip("/")
        deadline = loop_time() + self._timeout_seconds
        token, reply = await self._try(method, url, body, most_of_a_body, deadline)
        if isinstance(reply, Answer) or self._wire.refusal(reply) is None:
            return reply
        self._token.drop(token)
        _, reply = await self._try(method, url, body, most_of_a_body, deadline)
        return reply if isinstance(reply, Answer) else self._wire.refusal(reply) or reply

    async def probe(self) -> Answer:
        """Fetching a new token is harmless, and shows that the network is up."""
        try:
            await self._fetch()
        except NoToken as error:
            return error.answer
        return Answer(verdict=Verdict.WAITING, code=self._wire.called)

    async def _try(
        self, method: str, url: str, body: bytes | None, most_of_a_body: int, deadline: float
    ) -> tuple[str, Reply | Answer]:
        try:
            async with asyncio.timeout_at(deadline):
                token = await self._token.get()
        except NoToken as error:
            return "", error.answer
        except TimeoutError:
            return "", nothing_sent("token", "no token in time")
        reply = await self._http_client.call(
            method,
            url,
            headers=self._wire.headers(token, body),
            body=body,
            timeout_seconds=max(deadline - loop_time(), 0.001),
            most_of_a_body=most_of_a_body,
        )
        return token, reply_or_answer(reply)

    async def _fetch(self) -> Token:
        reply = await self._wire.request()
        if not isinstance(reply, Reply):
            # Lost or not, this was the request for a token: no payment has been sent.
            raise NoToken(nothing_sent(self._wire.called, reply.reason))
        token = self._wire.read(reply)
        if isinstance(token, Answer):
            raise NoToken(token)
        return token
