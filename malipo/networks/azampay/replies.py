"""Parses AzamPay's replies: to the request for a token, to a payout, to a query, to a look-up of a name."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from malipo import clock
from malipo.networks.answers import misconfigured, nothing_sent
from malipo.networks.azampay import codes
from malipo.networks.code_meanings import answer_of
from malipo.networks.connector import Answer, FailureCode, PaymentInstruction, Recipient, Verdict
from malipo.networks.http.client import Reply, amount_of, receipt_of, text_of, token_of
from malipo.networks.person_name import name_in
from malipo.networks.text import reason_in
from malipo.networks.token_cache import Token

NETWORK = "AzamPay"
# Tokens are good for hours; one whose end is not understood is used for a shorter time.
_LEAST_SECONDS, _USUAL_SECONDS, _MOST_SECONDS = 60.0, 3000.0, 6 * 3600.0
_MARGIN_SECONDS = 60.0
_NETWORK_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def of_token(reply: Reply) -> Token | Answer:
    fields = reply.json() or {}
    data = fields.get("data")
    data = data if isinstance(data, dict) else {}
    token = token_of(data.get("accessToken"))
    if token and reply.status < 300 and fields.get("success") is not False:
        return token, _seconds_until(data.get("expire"))
    # 423: the name, the id or the secret of the application is wrong.
    if reply.status in (400, 401, 403, 423) and (message := message_of(fields)):
        return misconfigured(NETWORK, f"HTTP {reply.status}", message)
    return nothing_sent(f"HTTP {reply.status}")


def of_payment(reply: Reply) -> Answer:
    """The answer of a reply. "Accepted" is not paid, whatever else the reply says, and a payment that was given an id
    may be paid."""
    fields, code = reply.json(), f"HTTP {reply.status}"
    if fields is None or _is_fault(reply):
        return Answer(verdict=Verdict.UNKNOWN, code=code, is_fault=True)
    message, is_accepted = message_of(fields), fields.get("success") is True
    network_id = _network_id(fields.get("pgReferenceId"))
    if is_accepted and network_id and 200 <= reply.status < 300:
        return Answer(
            verdict=Verdict.WAITING, code=code, detail=f"{message} pgReferenceId {network_id}", network_id=network_id
        )
    if is_accepted or fields.get("pgReferenceId") not in (None, ""):
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=message)
    return answer_of(NETWORK, codes.ERRORS, codes.error_of(reply.status, message), message, shown=code)


def of_query(reply: Reply, instruction: PaymentInstruction) -> Answer:
    """`success` says whether the query was answered, `status` what became of the payout.

    A query that is refused has a status too: "Failure", of the query. So a status counts only beside a success, and
    only if the answer names the payout.
    """
    fields, code = reply.json(), f"HTTP {reply.status}"
    if fields is None or _is_fault(reply):
        return Answer(verdict=Verdict.UNKNOWN, code=code, is_fault=True)
    message = message_of(fields)
    if reply.status != 200 or fields.get("success") is not True or fields.get("statusCode", 200) != 200:
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=message)
    if not _is_about(instruction, fields):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's", detail=message)
    return of_status(fields, fields.get("status"))


def of_status(fields: Mapping[str, Any], status: object) -> Answer:
    answer = answer_of(NETWORK, codes.STATUSES, text_of(status).lower(), message_of(fields), shown=text_of(status))
    if not answer.verdict.is_definite:
        return answer
    is_paid = answer.verdict is Verdict.CONFIRMED
    failure_code = None if is_paid else reason_in(answer.detail)
    is_short = failure_code is FailureCode.INSUFFICIENT_FUNDS
    references = (fields.get("fspReferenceId"), fields.get("mnoreference"), fields.get("pgReferenceId"))
    return replace(
        answer,
        provider_reference=receipt_of(*references) if is_paid else None,
        failure_code=failure_code,
        amount=amount_of(fields.get("amount")),
        alert=f"{NETWORK}: our float may be short ({answer.detail})." if is_short else None,
    )


def of_name(reply: Reply, number: str) -> Recipient:
    """Two spellings are known: `name` or `fName` and `lName` with `status`, and `accountName` with `success`."""
    fields, code = reply.json(), f"HTTP {reply.status}"
    if fields is None or _is_fault(reply):
        return Recipient(code=code)
    is_found = fields.get("status", fields.get("success"))
    if is_found is False and codes.NOT_REGISTERED.search(message_of(fields)):
        return Recipient(is_registered=False, code=code)
    if reply.status != 200 or is_found is not True:
        return Recipient(code=code, detail=message_of(fields))
    if text_of(fields.get("accountNumber")).removeprefix("+") not in ("", number):
        return Recipient(code="another number's")
    parts = [fields.get(each) for each in ("fName", "lName")]
    parts = parts if any(parts) else [fields.get(each) for each in ("fname", "lname")]
    name = name_in(fields.get("name")) or name_in(fields.get("accountName")) or name_in(*parts)
    return Recipient(name=name, is_registered=True if name else None, code=code)


def message_of(fields: Mapping[str, Any]) -> str:
    """The reply's text; empty if it has none."""
    return next((text_of(fields[name]) for name in ("message", "title") if isinstance(fields.get(name), str)), "")


def _is_fault(reply: Reply) -> bool:
    return reply.is_fault or reply.status == 429


def _network_id(value: object) -> str | None:
    return value if isinstance(value, str) and _NETWORK_ID.fullmatch(value) else None


def _is_about(instruction: PaymentInstruction, fields: Mapping[str, Any]) -> bool:
    theirs, ours = text_of(fields.get("pgReferenceId")), text_of(fields.get("initiatorReferenceId"))
    if ours not in ("", instruction.key) or (
        instruction.network_id is not None and theirs not in ("", instruction.network_id)
    ):
        return False
    return ours == instruction.key or (instruction.network_id is not None and theirs == instruction.network_id)


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
