"""ClickPesa, an aggregator: one contract that reaches every channel, both ways, with a query for both.

The checksum of bodies, theirs and ours, is in `callbacks.py`. There is no event for a payout that is done, so payouts
are ended by the query.
"""

from collections.abc import AsyncIterator, Awaitable
from datetime import datetime
from typing import Any

import msgspec

from malipo import randomness
from malipo.networks.answers import failed_query, unknown_balance, unknown_recipient
from malipo.networks.authorized_calls import TokenCalls, TokenWire, refused_by_401
from malipo.networks.clickpesa import callbacks, replies
from malipo.networks.clickpesa.checksum import checksum_of
from malipo.networks.clickpesa.statements import statement
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Balance,
    Callback,
    CallbackReport,
    Channel,
    PaymentInstruction,
    Recipient,
    Resubmit,
    Type,
)
from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent
from malipo.networks.lookup_limit import MinuteLimit
from malipo.networks.requirements import Requirements
from malipo.networks.statement_source import FetchedLine
from malipo.settings.networks import ClickpesaSettings

_encode = msgspec.json.Encoder().encode
_PREVIEW_AMOUNT = 1000  # Nothing is paid, but a preview needs an amount.
_MOST_OF_A_STATEMENT = 64 * 1024 * 1024  # It comes in one piece: some 300,000 lines.


class Clickpesa:
    name = "clickpesa"
    requirements = Requirements(
        address="clickpesa_base_url",
        needs=("clickpesa_client_id", "clickpesa_api_key"),
    )
    statement_profile = "clickpesa-api"

    def __init__(self, settings: ClickpesaSettings, http_client: HttpClient) -> None:
        self._settings = settings
        self._http_client = http_client
        self._base = (settings.clickpesa_base_url or "").rstrip("/")
        self.timeout_seconds: float = settings.clickpesa_timeout_seconds
        self.concurrency = settings.clickpesa_concurrency
        self._look_ups = MinuteLimit(settings.clickpesa_lookups_per_minute)
        wire = TokenWire(
            request=self._request_token,
            read=replies.of_token,
            headers=_headers,
            refusal=refused_by_401(replies.NETWORK),
        )
        self._calls = TokenCalls(http_client, wire, base=self._base, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # 409

    def can_query(self, type_: Type) -> bool:
        return True

    async def send(self, instruction: PaymentInstruction) -> Answer:
        body: dict[str, Any] = {
            # Text for a collection and a number for a payout: that is how they have it.
            "amount": str(instruction.amount) if instruction.type is Type.COLLECTION else instruction.amount,
            "currency": "TZS",
            "orderReference": instruction.key,
            "phoneNumber": instruction.phone.removeprefix("+"),
        }
        path = (
            "/payments/initiate-ussd-push-request"
            if instruction.type is Type.COLLECTION
            else "/payouts/create-mobile-money-payout"
        )
        reply = await self._calls.call("POST", path, self._with_checksum(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply, instruction)

    async def query(self, instruction: PaymentInstruction) -> Answer:
        kind = "payments" if instruction.type is Type.COLLECTION else "payouts"
        reply = await self._calls.call("GET", f"/{kind}/{instruction.key}")
        return failed_query(reply) if isinstance(reply, Answer) else replies.of_query(reply, instruction)

    async def balance(self) -> Balance:
        reply = await self._calls.call("GET", "/account/balance")
        return unknown_balance(reply) if isinstance(reply, Answer) else replies.of_balance(reply)

    def looks_up(self, channel: Channel) -> bool:
        return self._settings.clickpesa_lookups_per_minute > 0

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        """Look a name up by the preview of a payout, which pays nothing. They count our requests, and payouts need
        theirs."""
        if not self._look_ups.take():
            return Recipient(code="minute limit", detail="look-ups of this minute are used up")
        number = phone.removeprefix("+")
        body = {
            "amount": _PREVIEW_AMOUNT,
            "currency": "TZS",
            "orderReference": f"NAME{randomness.token_hex(8).upper()}",  # longer than any key of a payment
            "phoneNumber": number,
        }
        reply = await self._calls.call("POST", "/payouts/preview-mobile-money-payout", self._with_checksum(body))
        return unknown_recipient(reply) if isinstance(reply, Answer) else replies.of_name(reply, channel, number)

    async def probe(self) -> Answer:
        return await self._calls.probe()

    def fetch_statement(self, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
        return statement(
            lambda path: self._calls.call("GET", path, most_of_a_body=_MOST_OF_A_STATEMENT), begins=begins, ends=ends
        )

    def read(self, callback: Callback) -> CallbackReport | None:
        return callbacks.read(callback, self._settings)

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement:
        return callbacks.acknowledge(report)

    def _with_checksum(self, body: dict[str, Any]) -> bytes:
        if self._settings.clickpesa_checksum_key is None:
            return _encode(body)
        return _encode(body | {"checksum": checksum_of(body, self._settings)})

    def _request_token(self) -> Awaitable[Reply | RequestUnsent | ReplyLost]:
        return self._http_client.call(
            "POST",
            self._base + "/generate-token",
            headers={
                "client-id": self._settings.clickpesa_client_id or "",
                "api-key": self._settings.clickpesa_api_key or "",
            },
            timeout_seconds=self.timeout_seconds,
        )


def _headers(token: str, body: bytes | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
