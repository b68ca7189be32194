"""AzamPay, an aggregator: payouts on every channel, with a query, and the name behind a phone number.

How requests are signed is in `checksum.py`.
"""

from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlencode

import msgspec

from malipo import clock
from malipo.networks.answers import failed_query, misconfigured, unknown_recipient
from malipo.networks.authorized_calls import TokenCalls, TokenWire, refused_by_401
from malipo.networks.azampay import callbacks, replies
from malipo.networks.azampay.checksum import NAME_LOOKUP, checksum_of, usable_key
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Callback,
    CallbackReport,
    Channel,
    PaymentInstruction,
    Recipient,
    Resubmit,
    Type,
)
from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent
from malipo.networks.requirements import Requirements
from malipo.networks.text import cleaned
from malipo.settings.networks import AzampaySettings

_encode = msgspec.json.Encoder().encode
_PATH = "/api/v1/azampay"


class Azampay:
    name = "azampay"
    requirements = Requirements(
        address="azampay_base_url",
        needs=(
            "azampay_authenticator_url",
            "azampay_app_name",
            "azampay_client_id",
            "azampay_client_secret",
            "azampay_public_key",
            "azampay_source_account",
            "azampay_source_name",
        ),
        query=("azampay_query",),
    )

    def __init__(self, settings: AzampaySettings, http_client: HttpClient) -> None:
        self._settings = settings
        self._http_client = http_client
        self._public_key = usable_key(settings.azampay_public_key or "")
        self._banks = {
            Channel.MPESA: settings.azampay_mpesa_bank,
            Channel.TIGO_PESA: settings.azampay_tigo_pesa_bank,
            Channel.AIRTEL_MONEY: settings.azampay_airtel_money_bank,
            Channel.HALOPESA: settings.azampay_halopesa_bank,
        }
        self.timeout_seconds: float = settings.azampay_timeout_seconds
        self.concurrency = settings.azampay_concurrency
        wire = TokenWire(
            request=self._request_token,
            read=replies.of_token,
            headers=_headers,
            refusal=refused_by_401(replies.NETWORK),
        )
        base = settings.azampay_base_url or ""
        self._calls = TokenCalls(http_client, wire, base=base, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        # It refuses a reference twice, as far as test hosts show. For how long, nobody has said.
        return Resubmit.UNSAFE

    def can_query(self, type_: Type) -> bool:
        return self._settings.azampay_query

    async def send(self, instruction: PaymentInstruction) -> Answer:
        if instruction.type is not Type.DISBURSEMENT or instruction.channel is None:
            return misconfigured(replies.NETWORK, "unsupported", "it pays out, on a channel that is named")
        body = self._payout(instruction, instruction.channel)
        body["checksum"] = checksum_of(body, self._settings.azampay_checksum_fields, self._public_key)
        reply = await self._calls.call("POST", f"{_PATH}/disburse", _encode(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply)

    async def query(self, instruction: PaymentInstruction) -> Answer:
        """Query a payment by AzamPay's id. If the reply that named it was lost, by ours, which not every account may be
        able to."""
        wanted = (
            {"pgReferenceId": instruction.network_id}
            if instruction.network_id
            else {"externalReferenceId": instruction.key}
        )
        bank = {"bankName": self._banks[instruction.channel]} if instruction.channel else {}
        reply = await self._calls.call("GET", f"{_PATH}/transactionstatus?{urlencode(wanted | bank)}")
        return failed_query(reply) if isinstance(reply, Answer) else replies.of_query(reply, instruction)

    def looks_up(self, channel: Channel) -> bool:
        return True

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        body: dict[str, Any] = {"bankName": self._banks[channel], "accountNumber": phone.removeprefix("+")}
        body["checksum"] = checksum_of(body, NAME_LOOKUP, self._public_key)
        reply = await self._calls.call("POST", f"{_PATH}/namelookup", _encode(body))
        return unknown_recipient(reply) if isinstance(reply, Answer) else replies.of_name(reply, body["accountNumber"])

    async def probe(self) -> Answer:
        return await self._calls.probe()

    def read(self, callback: Callback) -> CallbackReport | None:
        return callbacks.read(callback)

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement:
        return callbacks.acknowledge(report)

    def _payout(self, instruction: PaymentInstruction, channel: Channel) -> dict[str, Any]:
        return {
            "source": {
                "countryCode": "TZ",
                "fullName": self._settings.azampay_source_name,
                "bankName": self._settings.azampay_source_bank,
                "accountNumber": self._settings.azampay_source_account,
                "currency": "TZS",
            },
            "destination": {
                "countryCode": "TZ",
                "fullName": cleaned(instruction.name, least=1, most=100, otherwise="Customer"),
                "bankName": self._banks[channel],
                "accountNumber": instruction.phone.removeprefix("+"),
                "currency": "TZS",
            },
            "transferDetails": {
                "type": self._settings.azampay_transfer_type,
                "amount": instruction.amount,
                # A request is refused when it is old, so that each sending has its own time.
                "dateInEpoch": int(clock.now().timestamp()),
            },
            "externalReferenceId": instruction.key,
            "remarks": cleaned(instruction.note, least=1, most=100, otherwise="Payout"),
        }

    def _request_token(self) -> Awaitable[Reply | RequestUnsent | ReplyLost]:
        body = {
            "appName": self._settings.azampay_app_name,
            "clientId": self._settings.azampay_client_id,
            "clientSecret": self._settings.azampay_client_secret,
        }
        return self._http_client.call(
            "POST",
            f"{self._settings.azampay_authenticator_url or ''}/AppRegistration/GenerateToken",
            headers={"Content-Type": "application/json"},
            body=_encode(body),
            timeout_seconds=self.timeout_seconds,
        )


def _headers(token: str, body: bytes | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
