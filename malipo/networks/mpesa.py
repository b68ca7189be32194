"""M-Pesa (Vodacom Tanzania, OpenAPI): an RSA-sealed session, C2B, B2C, and a query that can end everything alone.

An application of theirs is synchronous (the reply to a payment is its result) or asynchronous (the reply says that it
was taken in, the result comes by callback and by query). The reply itself tells which: only a result has a receipt.
Callbacks are unsigned, so they are hints.

Verdicts are read from the code, not from the HTTP status: 401 stands for "wrong PIN" here as well as for "no session".
"""

import secrets
from typing import Any

import msgspec

from malipo.networks import rsa
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
from malipo.networks.wire import Lost, Reply, Unsent, Wire, is_true, json_object, key_of, receipt_of, text_of, token_of
from malipo.networks.words import cleaned
from malipo.settings.networks import MpesaSettings

_encode = msgspec.json.Encoder().encode

_OK = ("INS-0", "0")

# The network says that the money did not move and will not.
_REFUSED: dict[str, FailureCode] = {
    "INS-4": FailureCode.INVALID_RECIPIENT,  # user not active
    "INS-5": FailureCode.DECLINED,
    "INS-6": FailureCode.DECLINED,  # wrong PIN, declined
    "INS-15": FailureCode.LIMIT_EXCEEDED,  # invalid amount
    "INS-35": FailureCode.REJECTED,
    "INS-990": FailureCode.LIMIT_EXCEEDED,
    "INS-991": FailureCode.LIMIT_EXCEEDED,
    "INS-992": FailureCode.LIMIT_EXCEEDED,
    "INS-993": FailureCode.LIMIT_EXCEEDED,
    "INS-994": FailureCode.LIMIT_EXCEEDED,
    "INS-995": FailureCode.LIMIT_EXCEEDED,
    "INS-2002": FailureCode.INVALID_RECIPIENT,
    "INS-2006": FailureCode.INSUFFICIENT_FUNDS,
    "INS-2051": FailureCode.INVALID_RECIPIENT,
}
# It refused us and not the customer: credentials, a field of ours, or what the application may do.
_MISCONFIGURED = {
    f"INS-{number}" for number in (2, 13, 14, 17, 18, 19, 20, 21, 22, 24, 25, 26, 28, 30, 31, 996, 997, 998, 2001, 2057)
}
# What refuses us a session; before one, no payment was sent.
_NO_SESSION = {"INS-2", "INS-989", "INS-2001"}
# With these HTTP statuses the gateway turned us away before it took anything in. 408 and 409 may come after.
_AT_THE_DOOR = {400, 401, 403, 404, 405, 415, 422}
_LIMITS_OF_OURS = {"INS-993", "INS-994"}
_MISSING = {"INS-23", "INS-6140"}

# What the query calls an end. Any other word is not one.
_ENDS: dict[str, FailureCode] = {
    "failed": FailureCode.REJECTED,
    "cancelled": FailureCode.DECLINED,
    "declined": FailureCode.DECLINED,
    "expired": FailureCode.EXPIRED,
    "rejected": FailureCode.REJECTED,
    "reversed": FailureCode.REJECTED,
}


class Mpesa:
    name = "mpesa"

    def __init__(self, settings: MpesaSettings, wire: Wire) -> None:
        assert settings.mpesa_base_url
        assert settings.mpesa_api_key
        assert settings.mpesa_public_key
        self._settings = settings
        self._wire = wire
        self._base = settings.mpesa_base_url.rstrip("/") + "/"
        self._api_key = settings.mpesa_api_key
        self._public_key = rsa.public_key(settings.mpesa_public_key)
        self.timeout_seconds: float = settings.mpesa_timeout_seconds
        self._authorised = Authorised(self._open_session, timeout_seconds=self.timeout_seconds)
        self.concurrency = settings.mpesa_concurrency

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.DUPLICATES_REFUSED  # INS-10

    def may_ask(self, type_: Type) -> bool:
        return True

    async def send(self, order: Order) -> Answer:
        is_payout = order.type is Type.DISBURSEMENT
        description = "input_PaymentItemsDesc" if is_payout else "input_PurchasedItemsDesc"
        body = {
            "input_Amount": str(order.amount),
            "input_CustomerMSISDN": order.phone.removeprefix("+"),
            "input_Country": self._settings.mpesa_country,
            "input_Currency": self._settings.mpesa_currency,
            "input_ServiceProviderCode": self._settings.mpesa_service_provider_code,
            "input_TransactionReference": order.key,
            "input_ThirdPartyConversationID": order.key,
            description: cleaned(order.note, least=1, most=256),
        }
        path = self._settings.mpesa_disbursement_path if is_payout else self._settings.mpesa_collection_path
        reply = await self._call("POST", path, body=_encode(body))
        return reply if isinstance(reply, Answer) else _of_payment(reply, order)

    async def ask(self, order: Order) -> Answer:
        query = "&".join(
            (
                f"input_QueryReference={order.key}",
                f"input_ServiceProviderCode={self._settings.mpesa_service_provider_code}",
                f"input_ThirdPartyConversationID={secrets.token_hex(16)}",
                f"input_Country={self._settings.mpesa_country}",
            )
        )
        reply = await self._call("GET", f"{self._settings.mpesa_query_path}?{query}")
        if isinstance(reply, Answer):
            # Whatever became of the question, it says nothing of the payment.
            return msgspec.structs.replace(reply, verdict=Verdict.UNKNOWN, failure_code=None)
        return _of_query(reply)

    async def probe(self) -> Answer:
        try:
            await self._open_session()
        except NoWayIn as error:
            return error.answer
        return Answer(verdict=Verdict.WAITING, code="session")

    def read(self, callback: Callback) -> News | None:
        said = json_object(callback.body) or {}
        key, code = key_of(said.get("input_ThirdPartyConversationID")), text_of(said.get("input_ResultCode"))
        if not key or not code:
            return None
        detail = text_of(said.get("input_ResultDesc"))
        if code in _OK:
            receipt = receipt_of(said.get("input_TransactionID"))
            answer = Answer(verdict=Verdict.CONFIRMED, code=code, detail=detail, provider_reference=receipt)
        else:
            answer = _refused(code, detail)
        return News(key=key, answer=answer, is_signed=False)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        said = json_object(callback.body) or {}
        is_read = news is not None
        body = {
            "output_OriginalConversationID": text_of(said.get("input_OriginalConversationID")),
            "output_ResponseCode": "0" if is_read else "1",
            "output_ResponseDesc": "Successfully Accepted Result" if is_read else "The result could not be read",
            "output_ThirdPartyConversationID": text_of(said.get("input_ThirdPartyConversationID")),
        }
        return Acknowledgement(status=200 if is_read else 400, body=_encode(body))

    async def _call(self, method: str, path: str, *, body: bytes | None = None) -> Reply | Answer:
        """A call under the session. Once, and only when told that the session is over, under a new one."""
        reply = await self._authorised.call(
            lambda bearer, seconds: self._request(method, path, bearer, body, seconds),
            is_over=lambda reply: bool(_session_trouble(reply)),
        )
        if isinstance(reply, Reply) and (said := _session_trouble(reply)):
            # A session may take half a minute to live. The gateway turned us away, so nothing was taken in.
            return turned_away("session", said)
        return reply

    async def _open_session(self) -> tuple[str, float]:
        """What the next calls are authorised with, and for how long."""
        bearer = rsa.sealed(self._public_key, self._api_key)
        reply = await self._request("GET", self._settings.mpesa_session_path, bearer, None, self.timeout_seconds)
        if isinstance(reply, Unsent | Lost):
            # Lost or not, this was no payment: none has been sent.
            raise NoWayIn(turned_away("session", reply.reason))
        said = reply.json() or {}
        session, code = token_of(said.get("output_SessionID")), text_of(said.get("output_ResponseCode"))
        if code == "INS-0" and session:
            try:
                return rsa.sealed(self._public_key, session), self._settings.mpesa_session_seconds
            except ValueError:
                raise NoWayIn(turned_away("session", "it is longer than the key")) from None
        trouble = _trouble(said)
        detail = text_of(said.get("output_ResponseDesc")) or trouble
        if reply.status in _AT_THE_DOOR and (code in _NO_SESSION or (trouble and not code)):
            raise NoWayIn(_misconfigured(code or f"HTTP {reply.status}", detail))
        raise NoWayIn(turned_away(code or f"HTTP {reply.status}", detail))

    async def _request(
        self, method: str, path: str, bearer: str, body: bytes | None, seconds: float
    ) -> Reply | Unsent | Lost:
        return await self._wire.call(
            method,
            self._base + path.lstrip("/"),
            headers={
                "Authorization": f"Bearer {bearer}",
                "Content-Type": "application/json",
                "Origin": self._settings.mpesa_origin,
            },
            body=body,
            timeout_seconds=seconds,
        )


def _of_payment(reply: Reply, order: Order) -> Answer:
    said = reply.json()
    if said is None:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    code, detail = text_of(said.get("output_ResponseCode")), text_of(said.get("output_ResponseDesc"))
    if not code and reply.status == 429:
        return turned_away("HTTP 429")  # The same id is never paid twice.
    if not code and (trouble := _trouble(said)) and reply.status in _AT_THE_DOOR:
        return _misconfigured(f"HTTP {reply.status}", trouble)
    if receipt_of(said.get("output_ThirdPartyConversationID")) not in (None, order.key):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's", detail=code)
    if reply.status >= 500:
        return Answer(verdict=Verdict.UNKNOWN, code=code or f"HTTP {reply.status}", detail=detail, is_fault=True)
    if code == "INS-0":
        receipt = receipt_of(said.get("output_TransactionID"))
        if receipt is None:
            return Answer(verdict=Verdict.WAITING, code=code, detail=detail)
        return Answer(verdict=Verdict.CONFIRMED, code=code, detail=detail, provider_reference=receipt)
    return _refused(code or f"HTTP {reply.status}", detail, order.type)


def _of_query(reply: Reply) -> Answer:
    said = reply.json()
    if said is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    code, detail = text_of(said.get("output_ResponseCode")), text_of(said.get("output_ResponseDesc"))
    if code in _MISSING:
        return Answer(verdict=Verdict.MISSING, code=code, detail=detail)
    if code != "INS-0":
        return Answer(verdict=Verdict.UNKNOWN, code=code or f"HTTP {reply.status}", detail=detail)
    # INS-0 only says that the question was answered.
    status = text_of(said.get("output_ResponseTransactionStatus"))
    receipt = receipt_of(said.get("output_OriginalTransactionID"), said.get("output_TransactionID"))
    if status.lower() == "completed":
        if is_true(said.get("output_Reversed")):
            return _ended(FailureCode.REJECTED, "Reversed", detail)
        return Answer(verdict=Verdict.CONFIRMED, code=status, detail=detail, provider_reference=receipt)
    if failure := _ENDS.get(status.lower()):
        return _ended(failure, status, detail)
    verdict = Verdict.WAITING if status.lower() == "pending" else Verdict.UNKNOWN
    return Answer(verdict=verdict, code=status, detail=detail)


def _refused(code: str, detail: str, type_: Type | None = None) -> Answer:
    """What a code other than success says. One that we do not know says nothing."""
    if code in _MISCONFIGURED:
        return _misconfigured(code, detail)
    if code not in _REFUSED:
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail, is_fault=code in ("INS-1", "INS-16"))
    is_ours = code in _LIMITS_OF_OURS or (code == "INS-2006" and type_ is Type.DISBURSEMENT)
    answer = _ended(_REFUSED[code], code, detail)
    return msgspec.structs.replace(answer, alert=f"M-Pesa: {code} {detail}".strip()) if is_ours else answer


def _ended(failure: FailureCode, code: str, detail: str) -> Answer:
    return Answer(verdict=Verdict.REFUSED, code=code, detail=detail, failure_code=failure)


def _misconfigured(code: str, detail: str) -> Answer:
    return misconfigured("M-Pesa", code, detail)


def _trouble(said: dict[str, Any]) -> str:
    """What the gateway complains of, in words. A number there is no complaint."""
    error = said.get("output_error")
    return text_of(error) if isinstance(error, str) else ""


def _session_trouble(reply: Reply) -> str:
    """What the gateway says of our session, if that is why it turned us away."""
    if not 400 <= reply.status < 500:
        return ""
    said = reply.json() or {}
    trouble = _trouble(said)
    return trouble if "session" in trouble.lower() and not said.get("output_ResponseCode") else ""
