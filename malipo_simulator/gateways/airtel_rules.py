"""Airtel Money's rules: formats of fields, error codes, and the name of each outcome. Pure tables."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from malipo_simulator.behaviour import Outcome, PaymentKind

COUNTRY, CURRENCY = "TZ", "TZS"

_NINE_DIGITS = re.compile(r"[67][0-9]{8}", re.ASCII)
_ID = re.compile(r"[0-9A-Za-z\-]{1,64}", re.ASCII)
_ALPHANUMERIC = re.compile(r"[0-9A-Za-z]+", re.ASCII)


class Refused(NamedTuple):
    """A refusal before the wallet: the older kind of code, and for some the newer kind beside it."""

    result_code: str
    message: str
    response_code: str | None = None
    http_status: int = 400


class AirtelStatus(NamedTuple):
    status: str  # of the transaction: TS, TF, …
    code: str
    message: str


_IN_PROCESS = "Transaction is in process"

# As the portal's own samples have it, an enquiry calls a success "in process" by its code.
STATUS_OF: Mapping[PaymentKind, Mapping[Outcome | None, AirtelStatus]] = {
    PaymentKind.COLLECTION: {
        None: AirtelStatus("TIP", "DP00800001006", _IN_PROCESS),
        Outcome.SUCCESS: AirtelStatus("TS", "DP00800001006", "success"),
        Outcome.DECLINED: AirtelStatus("TF", "DP00800001008", "Refused by the customer"),
        Outcome.BALANCE_TOO_LOW: AirtelStatus("TF", "DP00800001007", "User has insufficient balance"),
        Outcome.EXPIRED: AirtelStatus("TE", "DP00800001029", "Transaction Expired"),
        Outcome.FAILED: AirtelStatus("TF", "DP00800001005", "FAILED"),
        Outcome.REVERSED: AirtelStatus("TR", "DP00800001001", "Transaction has been reversed"),
    },
    PaymentKind.DISBURSEMENT: {
        None: AirtelStatus("TIP", "DP00900001006", _IN_PROCESS),
        Outcome.SUCCESS: AirtelStatus("TS", "DP00900001001", "success"),
        Outcome.NOT_REGISTERED: AirtelStatus("TF", "DP00900001009", "Initiatee is invalid"),
        Outcome.FLOAT_TOO_LOW: AirtelStatus("TF", "DP00900001007", "Insufficient balance in the merchant's account"),
        Outcome.FAILED: AirtelStatus("TF", "DP00900001005", "Transaction Failed"),
        Outcome.REVERSED: AirtelStatus("TR", "DP00900001001", "Transaction has been reversed"),
    },
}
# In a callback a success is called by its name, and an expiry is a failure.
CALLBACK_CODE = {PaymentKind.COLLECTION: "DP00800001001", PaymentKind.DISBURSEMENT: "DP00900001001"}
NOT_FOUND = {PaymentKind.COLLECTION: "DP00800001025", PaymentKind.DISBURSEMENT: "DP00900001015"}
DUPLICATE = {
    PaymentKind.COLLECTION: Refused("ESB000041", "External Transaction ID already exists"),
    PaymentKind.DISBURSEMENT: Refused("ESB000041", "Duplicate Transaction Id", "DP00900001017"),
}
# A number that cannot be one.
_BAD_NUMBER = {PaymentKind.COLLECTION: "DP00800001005", PaymentKind.DISBURSEMENT: "DP00900001012"}
_UNSIGNED = "X-signature and payload did not match"
FORBIDDEN = {
    PaymentKind.COLLECTION: Refused("ESB000011", _UNSIGNED, "DP00800001026", 403),
    PaymentKind.DISBURSEMENT: Refused("ESB000011", _UNSIGNED, "DP00900001016", 403),
}
PIN_WRONG = Refused("ROUTER115", "Incorrect PIN")
PIN_UNREADABLE = Refused("ROUTER116", "The PIN is not encrypted as it should be")

NO_SUCH_USER = Refused("ESB000011", "User Not Found", "DP02200000002", 404)

_MISSING = "ROUTER003"
_INVALID = "ESB000008"


def header_refusal(country: str, currency: str) -> Refused | None:
    if not country:
        return Refused(_MISSING, "Missing required parameter: X-Country")
    if country != COUNTRY:
        return Refused("ROUTER006", "Country route is invalid")
    if not currency:
        return Refused("ROUTER119", "Currency is missing")
    return None if currency == CURRENCY else Refused("ROUTER112", "Currency is invalid")


def number_refusal(msisdn: str) -> Refused | None:
    """The refusal of an enquiry about a user: the number must have nine digits, without the country's code."""
    if len(msisdn) != 9:
        return Refused("ESB000033", "Invalid MSISDN Length. MSISDN Length should be 9", "DP02200000000")
    return None if _NINE_DIGITS.fullmatch(msisdn) else Refused("ESB000036", "Invalid MSISDN Format", "DP02200000000")


def query_refusal(code: str) -> Refused:
    """An enquiry that failed. Older codes stand in a field of their own; beside a newer one it says just that."""
    is_older = code.startswith(("ESB", "ROUTER"))
    return Refused(code if is_older else "ESB000014", "Error", None if is_older else code, 200)


class AirtelPayment(NamedTuple):
    phone: str
    amount: int
    id: str
    reference: str
    pin: str = ""


def read_collection(body: Any) -> AirtelPayment | Refused:
    subscriber, transaction = _part(body, "subscriber"), _part(body, "transaction")
    for where, part in (("subscriber", subscriber), ("transaction", transaction)):
        if part.get("country") != COUNTRY:
            return Refused("ESB000034", f"Country is not configured: {where}.country")
        if part.get("currency") != CURRENCY:
            return Refused("ESB000035", f"Currency is not configured: {where}.currency")
    return _read(PaymentKind.COLLECTION, body, subscriber, transaction)


def read_disbursement(body: Any, version: int) -> AirtelPayment | Refused:
    payee, transaction = _part(body, "payee"), _part(body, "transaction")
    if version >= 2 and (refused := _newer_refusal(payee, transaction, version)):
        return refused
    pin = body.get("pin") if isinstance(body, dict) else None
    if not isinstance(pin, str) or not pin:
        return Refused(_MISSING, "Missing required parameter: pin")
    payment = _read(PaymentKind.DISBURSEMENT, body, payee, transaction)
    if isinstance(payment, Refused):
        return payment
    if version == 2 and not _ALPHANUMERIC.fullmatch(payment.reference):
        return Refused(_INVALID, "Field validation: reference")
    return payment._replace(pin=pin)


def _newer_refusal(payee: dict[str, Any], transaction: dict[str, Any], version: int) -> Refused | None:
    """The refusal by the fields that v1 does not have. Version 3 has a type of wallet where version 2 has a name."""
    if payee.get("currency") != CURRENCY:
        return Refused("ESB000035", "Currency is not configured: payee.currency")
    if refused := type_refusal("transaction.type", transaction.get("type")):
        return refused
    if version >= 3:
        is_known = payee.get("wallet_type") in ("NORMAL", "SALARY")
        return None if is_known else Refused(_INVALID, "Field validation: payee.wallet_type")
    name = payee.get("name")  # Many leave it out.
    is_name = name is None or (isinstance(name, str) and not name.isspace())
    return None if is_name else Refused(_INVALID, "Field validation: payee.name")


def type_refusal(where: str, given: Any) -> Refused | None:
    if given is None or given == "":
        return Refused(_MISSING, f"Missing required parameter: {where}")
    return None if given in ("B2C", "B2B") else Refused(_INVALID, f"Field validation: {where}")


def _part(body: Any, name: str) -> dict[str, Any]:
    part = body.get(name) if isinstance(body, dict) else None
    return part if isinstance(part, dict) else {}


def _read(kind: PaymentKind, body: Any, person: dict[str, Any], transaction: dict[str, Any]) -> AirtelPayment | Refused:
    reference = body.get("reference") if isinstance(body, dict) else None
    id_, msisdn = transaction.get("id"), person.get("msisdn")
    amount: Any = transaction.get("amount")
    for name, value in (("reference", reference), ("msisdn", msisdn), ("transaction.id", id_), ("amount", amount)):
        if value is None or value == "":
            return Refused(_MISSING, f"Missing required parameter: {name}")
    if not isinstance(reference, str) or len(reference) > 64:
        return Refused(_INVALID, "Field validation: reference")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        return Refused(_INVALID, "Field validation: transaction.id")
    # A number, and not true, which Python would take for one.
    if type(amount) not in (int, float) or not 0 < amount < 10**12 or amount != int(amount):
        return Refused(_INVALID, "Field validation: transaction.amount")
    if type(msisdn) not in (str, int) or len(str(msisdn)) != 9:
        return Refused("ESB000033", "Invalid MSISDN Length. MSISDN Length should be 9", _BAD_NUMBER[kind])
    if not _NINE_DIGITS.fullmatch(str(msisdn)):
        return Refused("ESB000036", "Invalid MSISDN Format", _BAD_NUMBER[kind])
    return AirtelPayment(f"+255{msisdn}", int(amount), id_, reference)
