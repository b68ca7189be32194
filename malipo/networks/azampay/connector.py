"""AzamPay, an aggregator: payouts on every channel, with a query, and the name behind a phone number.

What replies say is in `replies.py`, what its words mean in `codes.py`, its callbacks in `callbacks.py`, and how
requests are signed in `checksum.py`.
"""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from malipo import clock
from malipo.networks.azampay import callbacks, replies
from malipo.networks.azampay.checksum import NAME_LOOKUP, checksum_of, usable_key
from malipo.networks.connector import (
    Acknowledgement,
    Answer,
    Callback,
    Channel,
    News,
    Order,
    Recipient,
    Resubmit,
    Type,
)
from malipo.networks.http.client import HttpClient, Lost, Reply, Unsent, text_of, token_of
from malipo.networks.text import cleaned
from malipo.networks.token_auth import NoToken, TokenAuth, failed_query, misconfigured, nothing_sent
from malipo.settings.networks import AzampaySettings

_encode = msgspec.json.Encoder().encode
_PATH = "/api/v1/azampay"
# Tokens are good for hours; one whose end is not understood is used for a shorter time.
_LEAST_SECONDS, _USUAL_SECONDS, _MOST_SECONDS = 60.0, 3000.0, 6 * 3600.0
_MARGIN_SECONDS = 60.0


class Azampay:
    name = "azampay"

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
        self._authorised = TokenAuth(self._fetch_token, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        # It refuses a reference twice, as far as test hosts show. For how long, nobody has said.
        return Resubmit.UNSAFE

    def can_query(self, type_: Type) -> bool:
        return self._settings.azampay_query

    async def send(self, order: Order) -> Answer:
        if order.type is not Type.DISBURSEMENT or order.channel is None:
            return misconfigured(replies.NETWORK, "unsupported", "it pays out, on a channel that is named")
        body = self._payout(order, order.channel)
        body["checksum"] = checksum_of(body, self._settings.azampay_checksum_fields, self._public_key)
        reply = await self._call("POST", f"{_PATH}/disburse", _encode(body))
        return reply if isinstance(reply, Answer) else replies.of_payment(reply)

    async def ask(self, order: Order) -> Answer:
        """By their id. If the reply that named it was lost, by ours, which not every account may be able to."""
        wanted = {"pgReferenceId": order.network_id} if order.network_id else {"externalReferenceId": order.key}
        bank = {"bankName": self._banks[order.channel]} if order.channel else {}
        reply = await self._call("GET", f"{_PATH}/transactionstatus?{urlencode(wanted | bank)}")
        if isinstance(reply, Answer):
            return failed_query(reply)
        return replies.of_query(reply, order)

    def looks_up(self, channel: Channel) -> bool:
        return True

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        body: dict[str, Any] = {"bankName": self._banks[channel], "accountNumber": phone.removeprefix("+")}
        body["checksum"] = checksum_of(body, NAME_LOOKUP, self._public_key)
        reply = await self._call("POST", f"{_PATH}/namelookup", _encode(body))
        if isinstance(reply, Answer):
            return Recipient(code=reply.code, detail=reply.detail)
        return replies.of_name(reply, body["accountNumber"])

    async def probe(self) -> Answer:
        return await self._authorised.probe()

    def read(self, callback: Callback) -> News | None:
        return callbacks.read(callback)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        return callbacks.acknowledge(news)

    def _payout(self, order: Order, channel: Channel) -> dict[str, Any]:
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
                "fullName": cleaned(order.name, least=1, most=100, otherwise="Customer"),
                "bankName": self._banks[channel],
                "accountNumber": order.phone.removeprefix("+"),
                "currency": "TZS",
            },
            "transferDetails": {
                "type": self._settings.azampay_transfer_type,
                "amount": order.amount,
                # A request is refused when it is old, so that each sending has its own time.
                "dateInEpoch": int(clock.now().timestamp()),
            },
            "externalReferenceId": order.key,
            "remarks": cleaned(order.note, least=1, most=100, otherwise="Payout"),
        }

    async def _call(self, method: str, path: str, body: bytes | None = None) -> Reply | Answer:
        reply = await self._authorised.call(
            lambda token, seconds: self._http_client.call(
                method,
                (self._settings.azampay_base_url or "") + path,
                headers={"Authorization": token, "Content-Type": "application/json"},
                body=body,
                timeout_seconds=seconds,
            ),
            is_over=lambda reply: reply.status == 401,
        )
        if isinstance(reply, Reply) and reply.status == 401:
            return misconfigured(replies.NETWORK, "HTTP 401", "the token is not accepted")
        return reply

    async def _fetch_token(self) -> tuple[str, float]:
        reply = await self._http_client.call(
            "POST",
            f"{self._settings.azampay_authenticator_url or ''}/AppRegistration/GenerateToken",
            headers={"Content-Type": "application/json"},
            body=_encode(
                {
                    "appName": self._settings.azampay_app_name,
                    "clientId": self._settings.azampay_client_id,
                    "clientSecret": self._settings.azampay_client_secret,
                }
            ),
            timeout_seconds=self.timeout_seconds,
        )
        if isinstance(reply, Unsent | Lost):
            raise NoToken(nothing_sent("token", reply.reason))
        said = reply.json() or {}
        given = said.get("data")
        given = given if isinstance(given, dict) else {}
        token = token_of(given.get("accessToken"))
        if token and reply.status < 300 and said.get("success") is not False:
            return f"Bearer {token}", _seconds_until(given.get("expire"))
        # 423: the name, the id or the secret of the application is wrong.
        if reply.status in (400, 401, 403, 423) and (message := replies.message_of(said)):
            raise NoToken(misconfigured(replies.NETWORK, f"HTTP {reply.status}", message))
        raise NoToken(nothing_sent(f"HTTP {reply.status}"))


def _seconds_until(expire: object) -> float:
    """How long a token is used. A time without a zone is not understood: it may be theirs."""
    try:
        ends = datetime.fromisoformat(text_of(expire))
    except ValueError:
        return _USUAL_SECONDS
    if ends.tzinfo is None:
        return _USUAL_SECONDS
    seconds = (ends - clock.now()).total_seconds() - _MARGIN_SECONDS
    return min(max(seconds, _LEAST_SECONDS), _MOST_SECONDS)
