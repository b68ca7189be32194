"""ClickPesa, an aggregator: one contract that reaches every channel, both ways, with a query for both.

Bodies can carry a checksum, and so can its webhook: then that is believed, else it is a hint. There is no event for a
payout that is done, so payouts are ended by the query.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from malipo.networks.authorised import Authorised, NoWayIn, misconfigured, turned_away
from malipo.networks.contract import (
    Acknowledgement,
    Answer,
    Callback,
    FailureCode,
    News,
    Order,
    Resubmit,
    Type,
    Verdict,
)
from malipo.networks.wire import (
    Lost,
    Reply,
    Unsent,
    Wire,
    amount_of,
    json_object,
    key_of,
    receipt_of,
    text_of,
    token_of,
)
from malipo.networks.words import reason_in
from malipo.settings.networks import ClickpesaSettings

_encode = msgspec.json.Encoder().encode
_TOKEN_SECONDS = 3600 - 60
_NOT_SIGNED = ("checksum", "checksumMethod")
_HAS_IT = re.compile(r"duplicate|exist|already|in use|used", re.IGNORECASE)

_DONE = ("SUCCESS", "SETTLED")
_FAILED = ("FAILED", "REFUNDED", "REVERSED")
_UNDER_WAY = ("PROCESSING", "PENDING", "AUTHORIZED", "ON-HOLD")


class Clickpesa:
    name = "clickpesa"

    def __init__(self, settings: ClickpesaSettings, wire: Wire) -> None:
        self._settings = settings
        self._wire = wire
        self._base = (settings.clickpesa_base_url or "").rstrip("/")
        self.timeout_seconds: float = settings.clickpesa_timeout_seconds
        self.concurrency = settings.clickpesa_concurrency
        self._authorised = Authorised(self._fetch_token, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # 409

    def may_ask(self, type_: Type) -> bool:
        return True

    async def send(self, order: Order) -> Answer:
        body: dict[str, Any] = {
            # Text for a collection and a number for a payout: that is how they have it.
            "amount": str(order.amount) if order.type is Type.COLLECTION else order.amount,
            "currency": "TZS",
            "orderReference": order.key,
            "phoneNumber": order.phone.removeprefix("+"),
        }
        if self._settings.clickpesa_checksum_key is not None:
            body["checksum"] = self._checksum(body)
        path = (
            "/payments/initiate-ussd-push-request"
            if order.type is Type.COLLECTION
            else "/payouts/create-mobile-money-payout"
        )
        reply = await self._call("POST", path, _encode(body))
        return reply if isinstance(reply, Answer) else _of_payment(reply, order)

    async def ask(self, order: Order) -> Answer:
        kind = "payments" if order.type is Type.COLLECTION else "payouts"
        reply = await self._call("GET", f"/{kind}/{order.key}")
        if isinstance(reply, Answer):
            # Whatever became of the question, it says nothing of the payment.
            return msgspec.structs.replace(reply, verdict=Verdict.UNKNOWN, failure_code=None)
        return _of_query(reply, order)

    async def probe(self) -> Answer:
        try:
            await self._fetch_token()
        except NoWayIn as error:
            return error.answer
        return Answer(verdict=Verdict.WAITING, code="token")

    def read(self, callback: Callback) -> News | None:
        said = json_object(callback.body) or {}
        data = said.get("data")
        if not isinstance(data, dict):
            return None
        key, signature = key_of(data.get("orderReference")), text_of(said.get("checksum"))
        is_signed = bool(signature) and self._settings.clickpesa_checksum_key is not None
        if not key or (is_signed and not self._is_right(said, signature)):
            return None
        answer = _of_status(data) or Answer(verdict=Verdict.UNKNOWN, code=text_of(said.get("event")))
        return News(key=key, answer=answer, is_signed=is_signed)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        if news is None:
            return Acknowledgement(status=400, body=b'{"received":false}')
        return Acknowledgement(status=200, body=b'{"received":true}')

    def _is_right(self, said: Mapping[str, Any], signature: str) -> bool:
        try:
            made = self._checksum(said)
        except (RecursionError, ValueError):
            return False
        return hmac.compare_digest(made.encode(), signature.lower().encode())

    def _checksum(self, payload: Mapping[str, Any]) -> str:
        signed = {name: value for name, value in payload.items() if name not in _NOT_SIGNED}
        text = _canonical(signed) if self._settings.clickpesa_checksum == "canonical" else _joined(signed)
        key = (self._settings.clickpesa_checksum_key or "").encode()
        return hmac.new(key, text, hashlib.sha256).hexdigest()

    async def _call(self, method: str, path: str, body: bytes | None = None) -> Reply | Answer:
        reply = await self._authorised.call(
            lambda token, seconds: self._wire.call(
                method,
                self._base + path,
                headers={"Authorization": token, "Content-Type": "application/json"},
                body=body,
                timeout_seconds=seconds,
            ),
            is_over=lambda reply: reply.status == 401,
        )
        if isinstance(reply, Reply) and reply.status == 401:
            return misconfigured("ClickPesa", "HTTP 401", "the token is not accepted")
        return reply

    async def _fetch_token(self) -> tuple[str, float]:
        reply = await self._wire.call(
            "POST",
            self._base + "/generate-token",
            headers={
                "client-id": self._settings.clickpesa_client_id or "",
                "api-key": self._settings.clickpesa_api_key or "",
            },
            timeout_seconds=self.timeout_seconds,
        )
        if isinstance(reply, Unsent | Lost):
            raise NoWayIn(turned_away("token", reply.reason))
        said = reply.json() or {}
        # It begins with "Bearer " already.
        given = said.get("token")
        token = token_of(given.removeprefix("Bearer").strip() if isinstance(given, str) else None)
        if token and reply.status < 300:
            return f"Bearer {token}", _TOKEN_SECONDS
        if reply.status in (400, 401, 403) and text_of(said.get("message")):
            raise NoWayIn(misconfigured("ClickPesa", f"HTTP {reply.status}", text_of(said["message"])))
        raise NoWayIn(turned_away(f"HTTP {reply.status}"))


def _of_payment(reply: Reply, order: Order) -> Answer:
    if reply.status == 429:
        return turned_away("HTTP 429")  # The same reference is never paid twice.
    said = reply.json()
    if said is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    if reply.status < 300:
        return _about(order, said) or Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}")
    message = _words(said)
    if reply.status == 400 and message and not _HAS_IT.search(message):
        return _refused(order, message)
    # 409, or a 400 in such words, says that it has the reference already: ask what became of the first.
    return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", detail=message)


def _words(said: Mapping[str, Any]) -> str:
    """What it says in words. A number there says nothing."""
    message = said.get("message")
    return text_of(message) if isinstance(message, str) else ""


def _refused(order: Order, message: str) -> Answer:
    """A request that was not taken. It is the customer's matter, our float's, or our own, as its words say."""
    reason = reason_in(message)
    if reason is FailureCode.REJECTED:
        return misconfigured("ClickPesa", "HTTP 400", message)
    is_float = reason is FailureCode.INSUFFICIENT_FUNDS and order.type is Type.DISBURSEMENT
    alert = f"ClickPesa: our float is short ({message})." if is_float else None
    return Answer(verdict=Verdict.REFUSED, code="HTTP 400", detail=message, failure_code=reason, alert=alert)


def _of_query(reply: Reply, order: Order) -> Answer:
    said = _first(reply.body)
    if said is None or reply.is_fault:
        # An empty list is an answer, if not one that says anything.
        is_fault = reply.is_fault or reply.body.strip() != b"[]"
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=is_fault)
    message = text_of(said.get("message"))
    if reply.status >= 300:
        # 404 may mean the reference or a feature of the account: that is no word of the payment.
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", detail=message)
    return _about(order, said) or Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", detail=message)


def _about(order: Order, said: Mapping[str, Any]) -> Answer | None:
    """What it says of this order, and of no other."""
    if text_of(said.get("orderReference")) not in ("", order.key):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    return _of_status(said)


def _of_status(said: Mapping[str, Any]) -> Answer | None:
    status, detail = text_of(said.get("status")).upper(), text_of(said.get("message"))
    if status in _DONE:
        return Answer(
            verdict=Verdict.CONFIRMED,
            code=status,
            detail=detail,
            provider_reference=receipt_of(said.get("paymentReference"), said.get("id")),
            amount=_amount(said),
            phone=_phone(said),
        )
    if status in _FAILED:
        return Answer(
            verdict=Verdict.REFUSED,
            code=status,
            detail=detail,
            failure_code=reason_in(detail),
            amount=_amount(said),
            phone=_phone(said),
        )
    if status in _UNDER_WAY:
        return Answer(verdict=Verdict.WAITING, code=status, detail=detail)
    return None


def _amount(said: Mapping[str, Any]) -> int | None:
    """What the customer paid or got. A payout's own `amount` has their fee in it."""
    order = said.get("order")
    collected = amount_of(said.get("collectedAmount"))
    return amount_of(order.get("amount")) if collected is None and isinstance(order, dict) else collected


def _phone(said: Mapping[str, Any]) -> str | None:
    beneficiary = said.get("beneficiary")
    account = beneficiary.get("accountNumber") if isinstance(beneficiary, dict) else None
    number = text_of(said.get("paymentPhoneNumber") or account).removeprefix("+")
    return f"+{number}" if number else None


def _first(body: bytes) -> dict[str, Any] | None:
    """A collection is answered with a list, a payout with an object or a list."""
    try:
        said = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(said, list):
        said = said[0] if said else None
    return said if isinstance(said, dict) else None


def _canonical(payload: Mapping[str, Any]) -> bytes:
    """Compact JSON, the keys of every object sorted."""
    return msgspec.json.Encoder(order="sorted").encode(payload)


def _joined(payload: Mapping[str, Any]) -> bytes:
    """The older form: the values, in the order of their keys, with nothing between."""
    return "".join(_flat(payload[name]) for name in sorted(payload)).encode()


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return _joined(value).decode()
    if isinstance(value, list):
        return "".join(map(_flat, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
