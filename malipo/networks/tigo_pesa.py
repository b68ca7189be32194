"""Tigo Pesa, now Mixx by Yas: a push in JSON, its result by callback, a query and payouts in XML.

Every address is a partner's own. The query is optional, and there is none for payouts: what was not heard of a payout,
only a person can find out, and it is never sent again. Callbacks are unsigned.
"""

import secrets
from urllib.parse import urlencode

import msgspec

from malipo.networks import xml
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
    seconds_of,
    text_of,
    token_of,
)
from malipo.networks.words import cleaned, reason_in
from malipo.settings.networks import TigoPesaSettings

_encode = msgspec.json.Encoder().encode

_ACCEPTED = "BILLER-18-0000-S"
_NOT_ACCEPTED = "BILLER-30-3030-E"
_TOKEN_MARGIN_SECONDS = 30

_PUSH_REFUSED: dict[str, FailureCode] = {
    "DebitMandate-10-2002-E": FailureCode.INVALID_RECIPIENT,
    "DebitMandate-10-2004-V": FailureCode.INVALID_RECIPIENT,
    "DebitMandate-10-2040-V": FailureCode.INVALID_RECIPIENT,
    "DebitMandate-10-2005-E": FailureCode.INVALID_RECIPIENT,  # not registered
    "BILLER-18-3018-E": FailureCode.LIMIT_EXCEEDED,
    "BILLER-18-3019-E": FailureCode.LIMIT_EXCEEDED,
    "BILLER-18-3020-E": FailureCode.LIMIT_EXCEEDED,
}
_PUSH_MISCONFIGURED = {
    "DebitMandate-10-2001-E",
    "DebitMandate-10-2003-E",
    "DebitMandate-10-3000-E",
    "DebitMandate-10-2020-V",
    "DebitMandate-10-2038-V",
    "BILLER-18-3021-E",
    "BILLER-18-3022-E",
    "BILLER-18-3040-E",
}

# Compared without leading zeros: the same status comes as 317 and as 00317.
_PAID = {"0", "200"}
_PAYOUT_REFUSED: dict[str, FailureCode] = {
    **dict.fromkeys(("31", "410", "60018", "42", "60014", "60024", "60017", "60021"), FailureCode.LIMIT_EXCEEDED),
    **dict.fromkeys(("60028", "60030"), FailureCode.LIMIT_EXCEEDED),
    **dict.fromkeys(("317", "60074"), FailureCode.INVALID_RECIPIENT),
    "60019": FailureCode.INSUFFICIENT_FUNDS,  # our own float is short
}
_FLOAT_IS_SHORT = "60019"
_PAYOUT_MISCONFIGURED = {"26", "2117"}


class TigoPesa:
    name = "tigo_pesa"

    def __init__(self, settings: TigoPesaSettings, wire: Wire) -> None:
        self._settings = settings
        self._wire = wire
        self.timeout_seconds: float = settings.tigo_pesa_timeout_seconds
        self.concurrency = settings.tigo_pesa_concurrency
        self._authorised = Authorised(self._fetch_token, timeout_seconds=self.timeout_seconds)

    def resubmit(self, type_: Type) -> Resubmit:
        return Resubmit.UNSAFE  # What a repeated reference is answered with, nobody has published.

    def may_ask(self, type_: Type) -> bool:
        return type_ is Type.COLLECTION and self._settings.tigo_pesa_query_url is not None

    async def send(self, order: Order) -> Answer:
        return await (self._push(order) if order.type is Type.COLLECTION else self._pay_out(order))

    async def ask(self, order: Order) -> Answer:
        if not self.may_ask(order.type):
            return Answer(verdict=Verdict.UNKNOWN, code="no query")
        fields = {
            "TYPE": "MTPGGetSODetails",
            "REFERENCEID": secrets.token_hex(10),  # of the question itself, and never twice the same
            "MSISDN": self._settings.tigo_pesa_biller_msisdn or "",
            "PIN": self._settings.tigo_pesa_pin or "",
            "EXTERNALREFID": self._reference(order),
        }
        reply = await self._command(self._settings.tigo_pesa_query_url, fields)
        if isinstance(reply, Unsent | Lost):
            return Answer(verdict=Verdict.UNKNOWN, code="lost", detail=reply.reason, is_fault=True)
        return self._of_query(reply, order)

    async def probe(self) -> Answer:
        try:
            await self._fetch_token()
        except NoWayIn as error:
            return error.answer
        return Answer(verdict=Verdict.WAITING, code="token")

    def read(self, callback: Callback) -> News | None:
        said = json_object(callback.body) or {}
        key = self._key(said.get("ReferenceID"))
        # A boolean, or the word for one.
        status = str(said.get("Status")).lower() if isinstance(said.get("Status"), bool | str) else ""
        if not key or status not in ("true", "false"):
            return None
        detail = text_of(said.get("Description"))
        if status == "true":
            receipt = receipt_of(said.get("MFSTransactionID"))
            answer = Answer(verdict=Verdict.CONFIRMED, code=status, detail=detail, provider_reference=receipt)
        else:
            answer = Answer(verdict=Verdict.REFUSED, code=status, detail=detail, failure_code=reason_in(detail))
        # It always names the amount. Where it does not, it is not theirs.
        amount = amount_of(said.get("Amount"))
        answer = msgspec.structs.replace(answer, amount=-1 if amount is None else amount)
        return News(key=key, answer=answer, is_signed=False)

    def acknowledge(self, callback: Callback, news: News | None) -> Acknowledgement:
        said = json_object(callback.body) or {}
        is_read = news is not None
        body = {
            "ResponseCode": self._settings.tigo_pesa_acknowledgement if is_read else _NOT_ACCEPTED,
            "ResponseStatus": is_read,
            "ResponseDescription": "Callback successful" if is_read else "Callback not understood",
            "ReferenceID": text_of(said.get("ReferenceID")),
        }
        return Acknowledgement(status=200 if is_read else 400, body=_encode(body))

    def _reference(self, order: Order) -> str:
        return self._settings.tigo_pesa_biller_code + order.key

    def _key(self, reference: object) -> str:
        text, prefix = key_of(reference), self._settings.tigo_pesa_biller_code
        return text.removeprefix(prefix) if text.startswith(prefix) else ""

    async def _push(self, order: Order) -> Answer:
        body = {
            "CustomerMSISDN": order.phone.removeprefix("+"),
            "BillerMSISDN": self._settings.tigo_pesa_biller_msisdn,
            "Amount": order.amount,
            "Remarks": cleaned(order.note, least=1, most=100),
            "ReferenceID": self._reference(order),
        }
        reply = await self._authorised.call(
            lambda token, seconds: self._wire.call(
                "POST",
                self._settings.tigo_pesa_push_url or "",
                headers={
                    "Authorization": f"bearer {token}",
                    "Username": self._settings.tigo_pesa_username or "",
                    "Password": self._settings.tigo_pesa_password or "",
                    "Content-Type": "application/json",
                    "Cache-Control": "no-cache",
                },
                body=_encode(body),
                timeout_seconds=seconds,
            ),
            is_over=lambda reply: reply.status == 401,
        )
        return reply if isinstance(reply, Answer) else self._of_push(reply, order)

    def _of_push(self, reply: Reply, order: Order) -> Answer:
        said = reply.json()
        if reply.status == 401:
            return _misconfigured("HTTP 401", "the token is not accepted")
        if said is None or reply.is_fault:
            return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
        code, detail = text_of(said.get("ResponseCode")), text_of(said.get("ResponseDescription"))
        if receipt_of(said.get("ReferenceID")) not in (None, self._reference(order)):
            return Answer(verdict=Verdict.UNKNOWN, code="another payment's", detail=code)
        if code == _ACCEPTED and said.get("ResponseStatus") is True:
            return Answer(verdict=Verdict.WAITING, code=code, detail=detail)
        if "duplicate" in f"{code} {detail} {text_of(said.get('Message'))}".lower():
            # No code for it is published. It has this reference already, and the first may have been paid.
            return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail)
        if code in _PUSH_MISCONFIGURED:
            return _misconfigured(code, detail)
        if code in _PUSH_REFUSED and said.get("ResponseStatus") is not True:
            return Answer(verdict=Verdict.REFUSED, code=code, detail=detail, failure_code=_PUSH_REFUSED[code])
        # Also a reference that it has already: the first one may have been pushed.
        return Answer(verdict=Verdict.UNKNOWN, code=code or f"HTTP {reply.status}", detail=detail)

    async def _pay_out(self, order: Order) -> Answer:
        fields = {
            "TYPE": self._settings.tigo_pesa_disbursement_type,
            "REFERENCEID": self._reference(order),
            "MSISDN": self._settings.tigo_pesa_account_msisdn or "",
            "PIN": self._settings.tigo_pesa_pin or "",
            "MSISDN1": order.phone.removeprefix("+"),
            "AMOUNT": str(order.amount),
        }
        if self._settings.tigo_pesa_sender_name is not None:
            fields["SENDERNAME"] = self._settings.tigo_pesa_sender_name
        fields["LANGUAGE1"] = self._settings.tigo_pesa_language
        if self._settings.tigo_pesa_brand_id is not None:
            fields["BRAND_ID"] = self._settings.tigo_pesa_brand_id
        reply = await self._command(self._settings.tigo_pesa_disbursement_url, fields)
        if isinstance(reply, Unsent):
            return turned_away("unsent", reply.reason)
        if isinstance(reply, Lost):
            return Answer(verdict=Verdict.UNKNOWN, code="lost", detail=reply.reason, is_fault=True)
        return self._of_payout(reply, order)

    def _of_payout(self, reply: Reply, order: Order) -> Answer:
        said = xml.read(reply.body)
        if said is None or reply.is_fault:
            return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
        if receipt_of(said.get("referenceid")) not in (None, self._reference(order)):
            return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
        status, detail = said.get("txnstatus", ""), text_of(said.get("message"))
        plain = _plain(status)
        if plain in _PAID:
            return Answer(
                verdict=Verdict.CONFIRMED,
                code=status,
                detail=detail,
                provider_reference=receipt_of(said.get("txnid")),
            )
        if plain in _PAYOUT_MISCONFIGURED:
            return _misconfigured(status, detail)
        if plain in _PAYOUT_REFUSED:
            alert = f"Tigo Pesa: our float is short ({status})." if plain == _FLOAT_IS_SHORT else None
            return Answer(
                verdict=Verdict.REFUSED,
                code=status,
                detail=detail,
                failure_code=_PAYOUT_REFUSED[plain],
                alert=alert,
            )
        # 100 is a general error, upon which the vendor himself says to hold the amount until it is reconciled. A page
        # without any status is not theirs: they are in trouble.
        code = text_of(status) or f"HTTP {reply.status}"
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail, is_fault=not status)

    def _of_query(self, reply: Reply, order: Order) -> Answer:
        said = xml.read(reply.body)
        if said is None or reply.is_fault:
            return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
        if receipt_of(said.get("externalrefid")) not in (None, self._reference(order)):
            return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
        result, detail = _plain(text_of(said.get("resultcode"))), text_of(said.get("resultdesc"))
        if result and result != "0":
            return Answer(verdict=Verdict.MISSING, code=result, detail=detail)
        status, amount = text_of(said.get("txnstatus")), amount_of(said.get("amount"))
        alert = f"Tigo Pesa says {status} of {order.key}." if status.lower().startswith("refund") else None
        if result == "0" and status.lower() in ("posted", "refund declined"):
            return Answer(
                verdict=Verdict.CONFIRMED,
                code=status,
                detail=detail,
                provider_reference=receipt_of(said.get("txnid")),
                amount=amount,
                alert=alert,
            )
        if result == "0" and status.lower() in ("declined", "refund"):
            # Every way not to pay is "Declined" here; the callback's words say more.
            return Answer(
                verdict=Verdict.REFUSED,
                code=status,
                detail=detail,
                failure_code=FailureCode.REJECTED,
                amount=amount,
                alert=alert,
            )
        code = status or f"HTTP {reply.status}"
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail, is_fault=not result)

    async def _command(self, url: str | None, fields: dict[str, str]) -> Reply | Unsent | Lost:
        return await self._wire.call(
            "POST",
            url or "",
            headers={"Content-Type": "text/xml;charset=UTF-8"},
            body=f'<?xml version="1.0"?><COMMAND>{xml.elements(fields)}</COMMAND>'.encode(),
            timeout_seconds=self.timeout_seconds,
        )

    async def _fetch_token(self) -> tuple[str, float]:
        form = {
            "username": self._settings.tigo_pesa_username or "",
            "password": self._settings.tigo_pesa_password or "",
            "grant_type": "password",
        }
        reply = await self._wire.call(
            "POST",
            self._settings.tigo_pesa_token_url or "",
            headers={"Content-Type": "application/x-www-form-urlencoded", "Cache-Control": "no-cache"},
            body=urlencode(form).encode(),
            timeout_seconds=self.timeout_seconds,
        )
        if isinstance(reply, Unsent | Lost):
            raise NoWayIn(turned_away("token", reply.reason))
        said = reply.json() or {}
        # Some gateways answer an error with 200, so only the token itself counts.
        if token := token_of(said.get("access_token")):
            return token, seconds_of(said.get("expires_in")) - _TOKEN_MARGIN_SECONDS
        if not reply.is_fault and text_of(said.get("error")):
            raise NoWayIn(_misconfigured(text_of(said["error"]), text_of(said.get("error_description"))))
        raise NoWayIn(turned_away(f"HTTP {reply.status}"))


def _plain(code: str) -> str:
    """The same code comes with leading zeros and without."""
    return code.lstrip("0") or ("0" if code else "")


def _misconfigured(code: str, detail: str) -> Answer:
    return misconfigured("Tigo Pesa", code, detail)
