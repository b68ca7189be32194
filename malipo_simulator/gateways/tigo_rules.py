"""Tigo Pesa's rules: formats of fields, error codes, and the name of each outcome. Pure tables."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from malipo_simulator import phone
from malipo_simulator.behaviour import Outcome

ACCEPTED = "BILLER-18-0000-S"
DUPLICATE = "DuplicateRefID"
ACKNOWLEDGED = ("BILLER-30-0000-S", "BILLER-18-0000-S")

PUSH_CODES = {
    ACCEPTED: "Request has been sent to the user",
    DUPLICATE: "Duplicate ReferenceID",
    "DebitMandate-10-2001-E": "Username is empty",
    "DebitMandate-10-2003-E": "Password is empty",
    "DebitMandate-10-3000-E": "Invalid username or password",
    "DebitMandate-10-2002-E": "CustomerMSISDN is empty",
    "DebitMandate-10-2004-V": "CustomerMSISDN is invalid",
    "DebitMandate-10-2020-V": "ReferenceID is invalid",
    "DebitMandate-10-2038-V": "BillerMSISDN is empty",
    "BILLER-18-3019-E": "Amount is outside the limits",
    "BILLER-18-3040-E": "BillerMSISDN is wrong",
}

# The texts of a callback about a failure.
DESCRIPTION_OF: Mapping[Outcome | None, str] = {
    Outcome.SUCCESS: "Transaction processed successfully",
    Outcome.DECLINED: "Customer declined the request",
    Outcome.BALANCE_TOO_LOW: "Customer has insufficient funds",
    Outcome.EXPIRED: "Customer did not respond in time",
    Outcome.FAILED: "Transaction failed",
}

# The word of a query for a payment that has moved money; all others are Declined.
STATUS_OF: Mapping[Outcome | None, str] = {Outcome.SUCCESS: "Posted", Outcome.REVERSED: "Refund"}

# The codes of a cash-in. There is no code for a plain failure, so it has that of a barred recipient.
PAID, GENERAL_ERROR, PIN_WRONG, SENDER_WRONG = "200", "100", "00026", "02117"
NOT_A_MULTIPLE, BELOW_MINIMUM, NOT_A_WALLET = "00042", "60017", "60074"
TXNSTATUS_OF: Mapping[Outcome | None, str] = {
    None: GENERAL_ERROR,
    Outcome.SUCCESS: PAID,
    Outcome.NOT_REGISTERED: NOT_A_WALLET,
    Outcome.FLOAT_TOO_LOW: "60019",
    Outcome.FAILED: "00317",
    Outcome.REVERSED: PAID,
}
MESSAGE_OF = {
    PAID: "Cash in successful",
    GENERAL_ERROR: "General error",
    PIN_WRONG: "PIN expired",
    SENDER_WRONG: "Sender is barred",
    NOT_A_MULTIPLE: "Amount is not a permitted multiple",
    BELOW_MINIMUM: "Amount is below the minimum",
    NOT_A_WALLET: "Recipient profile is not defined",
    "60019": "Insufficient balance in the sender's account",
    "00317": "Recipient is barred",
}

_MSISDN = re.compile(r"255[67][0-9]{8}", re.ASCII)
_REFERENCE = re.compile(r"[0-9A-Za-z]{1,60}", re.ASCII)
_CASH_IN_REFERENCE = re.compile(r"[0-9A-Za-z]{1,20}", re.ASCII)


class TigoPayment(NamedTuple):
    phone: str
    amount: int
    reference: str


def read_push(body: Mapping[str, Any], *, biller_msisdn: str, biller_code: str) -> TigoPayment | str:
    """The payment, or the code that refuses it."""
    customer, biller, reference = body.get("CustomerMSISDN"), body.get("BillerMSISDN"), body.get("ReferenceID")
    if not customer:
        return "DebitMandate-10-2002-E"
    if not _MSISDN.fullmatch(str(customer)):
        return "DebitMandate-10-2004-V"
    if not biller:
        return "DebitMandate-10-2038-V"
    if str(biller) != biller_msisdn:
        return "BILLER-18-3040-E"
    is_ours = isinstance(reference, str) and _REFERENCE.fullmatch(reference) and reference.startswith(biller_code)
    if not is_ours or reference == biller_code:
        return "DebitMandate-10-2020-V"
    amount = body.get("Amount")
    is_whole = type(amount) is int or (isinstance(amount, str) and amount.isascii() and amount.isdecimal())
    if not is_whole or not 0 < int(amount or 0) < 10**10:
        return "BILLER-18-3019-E"
    return TigoPayment(f"+{customer}", int(amount or 0), str(reference))


def read_cash_in(fields: Mapping[str, str], *, type_: str, account_msisdn: str, pin: str) -> TigoPayment | str:
    """The payment, or the status that refuses it."""
    if fields.get("type") != type_ or not _CASH_IN_REFERENCE.fullmatch(fields.get("referenceid", "")):
        return GENERAL_ERROR
    if fields.get("msisdn") != account_msisdn:
        return SENDER_WRONG
    if fields.get("pin") != pin:
        return PIN_WRONG
    recipient = fields.get("msisdn1", "")
    found = phone.read(recipient) if re.fullmatch("[0-9]{10}|[0-9]{12}", recipient, re.ASCII) else None
    if found is None:
        return NOT_A_WALLET
    amount = fields.get("amount", "")
    if not re.fullmatch("[0-9]{1,10}", amount, re.ASCII):
        return NOT_A_MULTIPLE
    return TigoPayment(found, int(amount), fields["referenceid"]) if int(amount) else BELOW_MINIMUM
