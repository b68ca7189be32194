"""ClickPesa, an aggregator: one contract that reaches every channel, both ways, with a query for both.

Its webhook events and the checksum of bodies, theirs and ours, are in `clickpesa_callbacks.py`. There is no event for a
payout that is done, so payouts are ended by the query. What replies say is in `clickpesa_replies.py`, what their words
mean in `clickpesa_codes.py`.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import msgspec

from malipo import randomness
from malipo.networks.clickpesa import callbacks, replies
from malipo.networks.clickpesa.callbacks import checksum_of
from malipo.networks.clickpesa.statements import statement
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Balance,
    Callback,
    Channel,
    News,
    Order,
    Recipient,
    Resubmit,
    Type,
)
from malipo.networks.http.client import HttpClient, Lost, Reply, Unsent, text_of, token_of
from malipo.networks.http.connection import MOST_OF_A_BODY
from malipo.networks.name_lookup import MinuteLimit
from malipo.networks.statement_source import FetchedLine
from malipo.networks.token_auth import NoToken, TokenAuth, failed_query, misconfigured, nothing_sent
from malipo.settings.networks import ClickpesaSettings

_encode = msgspec.json.Encoder().encode
_TOKEN_SECONDS = 3600 - 60
_PREVIEW_AMOUNT = 1000  # Nothing is paid, but a preview needs an amount.
_MOST_OF_A_STATEMENT = 64 * 1024 * 1024  # It comes in one piece: some 300,000 lines.


class Clickpesa:
    name = "clickpesa"
    statement_profile = "clickpesa-api"

    def __init__(self, settings: ClickpesaSettings, http_client: HttpClient) -> None:
        self._settings = settings
        self._http_client = http_client
        self._base = (settings.clickpesa_base_url or "").rstrip("/")
        self.timeout_seconds: float = settings.clickpesa_timeout_seconds
        self.concurrency = settings.clickpesa_concurrency
        self._look_ups = MinuteLimit(settings.clickpesa_lookups_per_minute)
        self._authorised = TokenAuth(self._fetch_token, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # 409

    def can_query(self, type_: Type) -> bool:
        return True

    async def send(self, order: Order) -> Answer:
        body: dict[str, Any] = {
            # Text for a collection and a number for a payout: that is how they have it.
            "amount": str(order.amount) if order.type is Type.COLLECTION else order.amount,
            "currency": "TZS",
            "orderReference": order.key,
            "phoneNumber": order.phone.removeprefix("+"),
        }
        path = (
            "/payments/initiate-ussd-push-request"
            if order.type is Type.COLLECTION
            else "/payouts/create-mobile-money-payout"
        )
        reply = await self._call("POST", path, self._with_checksum(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply, order)

    async def ask(self, order: Order) -> Answer:
        kind = "payments" if order.type is Type.COLLECTION else "payouts"
        reply = await self._call("GET", f"/{kind}/{order.key}")
        if isinstance(reply, Answer):
            return failed_query(reply)
        return replies.of_query(reply, order)

    async def balance(self) -> Balance:
        reply = await self._call("GET", "/account/balance")
        if isinstance(reply, Answer):
            return Balance(code=reply.code, detail=reply.detail)
        return replies.of_balance(reply)

    def looks_up(self, channel: Channel) -> bool:
        return self._settings.clickpesa_lookups_per_minute > 0

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        """By the preview of a payout, which pays nothing. They count our requests, and payouts need theirs."""
        if not self._look_ups.take():
            return Recipient(code="minute limit", detail="look-ups of this minute are used up")
        number = phone.removeprefix("+")
        body = {
            "amount": _PREVIEW_AMOUNT,
            "currency": "TZS",
            "orderReference": f"NAME{randomness.token_hex(8).upper()}",  # longer than any key of a payment
            "phoneNumber": number,
        }
        reply = await self._call("POST", "/payouts/preview-mobile-money-payout", self._with_checksum(body))
        if isinstance(reply, Answer):
            return Recipient(code=reply.code, detail=reply.detail)
        return replies.of_preview(reply, channel, number)

    async def probe(self) -> Answer:
        return await self._authorised.probe()

    def fetch_statement(self, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
        return statement(
            lambda path: self._call("GET", path, most_of_a_body=_MOST_OF_A_STATEMENT), begins=begins, ends=ends
        )

    def read(self, callback: Callback) -> News | None:
        return callbacks.read(callback, self._settings)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        return callbacks.acknowledge(news)

    def _with_checksum(self, body: dict[str, Any]) -> bytes:
        if self._settings.clickpesa_checksum_key is None:
            return _encode(body)
        return _encode(body | {"checksum": checksum_of(body, self._settings)})

    async def _call(
        self, method: str, path: str, body: bytes | None = None, *, most_of_a_body: int = MOST_OF_A_BODY
    ) -> Reply | Answer:
        reply = await self._authorised.call(
            lambda token, seconds: self._http_client.call(
                method,
                self._base + path,
                headers={"Authorization": token, "Content-Type": "application/json"},
                body=body,
                timeout_seconds=seconds,
                most_of_a_body=most_of_a_body,
            ),
            is_over=lambda reply: reply.status == 401,
        )
        if isinstance(reply, Reply) and reply.status == 401:
            return misconfigured(replies.NETWORK, "HTTP 401", "the token is not accepted")
        return reply

    async def _fetch_token(self) -> tuple[str, float]:
        reply = await self._http_client.call(
            "POST",
            self._base + "/generate-token",
            headers={
                "client-id": self._settings.clickpesa_client_id or "",
                "api-key": self._settings.clickpesa_api_key or "",
            },
            timeout_seconds=self.timeout_seconds,
        )
        if isinstance(reply, Unsent | Lost):
            raise NoToken(nothing_sent("token", reply.reason))
        said = reply.json() or {}
        # It begins with "Bearer " already.
        given = said.get("token")
        token = token_of(given.removeprefix("Bearer").strip() if isinstance(given, str) else None)
        if token and reply.status < 300:
            return f"Bearer {token}", _TOKEN_SECONDS
        if reply.status in (400, 401, 403) and text_of(said.get("message")):
            raise NoToken(misconfigured(replies.NETWORK, f"HTTP {reply.status}", text_of(said["message"])))
        raise NoToken(nothing_sent(f"HTTP {reply.status}"))
