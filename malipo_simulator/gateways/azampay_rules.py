"""AzamPay's rules: formats of fields, names of networks, what a checksum is taken over, the JSON of a callback."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from malipo_simulator.behaviour import Outcome
from malipo_simulator.transaction import Transaction

# In exactly these letters.
BANKS = {"Vodacom": "MPESA", "Yas": "TIGO_PESA", "Airtel": "AIRTEL_MONEY", "Halotel": "HALOPESA"}
SOURCE_BANK = "Azampesa"
SOURCE_ACCOUNT = "1000000164"
INVALID_BANK = "Invalid BankName."

_FIRST = {
    "accounts": ("source.accountNumber", "destination.accountNumber"),
    "bank": ("destination.bankName", "destination.accountNumber"),
}
_REST = ("source.currency", "transferDetails.amount", "transferDetails.dateInEpoch", "externalReferenceId")

_REFERENCE = re.compile(r"[a-zA-Z0-9._-]{1,30}", re.ASCII)
_ACCOUNT = re.compile(r"[a-zA-Z0-9._+-]{1,40}", re.ASCII)
_PHONE = re.compile("255[67][0-9]{8}", re.ASCII)
_EPOCH = re.compile("[0-9]{10}", re.ASCII)
_MOST_AMOUNT = 10_000_000

_MESSAGES: Mapping[Outcome | None, str] = {
    None: "Your transaction is in process",
    Outcome.SUCCESS: "Transaction completed",
    Outcome.NOT_REGISTERED: "Destination wallet is not registered",
    Outcome.FLOAT_TOO_LOW: "Insufficient balance on collection. Current balance 388.0",
    Outcome.REVERSED: "Transaction was reversed",
}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= 100


def _is_amount(value: object) -> bool:
    return type(value) is int and 0 < value <= _MOST_AMOUNT


def _fits(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str | int) and bool(pattern.fullmatch(str(value)))


_PARTY = ("countryCode", "fullName", "bankName", "currency")
_FIELDS: dict[str, Callable[[object], bool]] = {
    **{f"{party}.{field}": _is_text for party in ("source", "destination") for field in _PARTY},
    "source.accountNumber": _fits(_ACCOUNT),
    "destination.accountNumber": _fits(_PHONE),
    "transferDetails.type": _is_text,
    "transferDetails.amount": _is_amount,
    "transferDetails.dateInEpoch": _fits(_EPOCH),
    "externalReferenceId": _fits(_REFERENCE),
}


def at(body: Mapping[str, Any], path: str) -> Any:
    found: Any = body
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def wrong_with(body: Mapping[str, Any]) -> str | None:
    """The message about the first bad field. There is none about the checksum."""
    wrong = next((path for path, is_right in _FIELDS.items() if not is_right(at(body, path))), None)
    if wrong is None:
        return None
    path = ".".join(name[0].upper() + name[1:] for name in wrong.split("."))
    return f"Invalid request data: {path}: The field is not valid. Reference Id: 0HN0"


def digest_of(body: Mapping[str, Any], form: str) -> bytes:
    """The digest of a payout."""
    return _digest(body, (*_FIRST[form], *_REST))


def name_digest_of(body: Mapping[str, Any]) -> bytes:
    return _digest(body, ("bankName", "accountNumber"))


def _digest(body: Mapping[str, Any], fields: tuple[str, ...]) -> bytes:
    return hashlib.sha512("".join(str(at(body, field)) for field in fields).encode()).digest()


def status_of(transaction: Transaction) -> str:
    if transaction.outcome is None:
        return "pending"
    return "success" if transaction.outcome is Outcome.SUCCESS else "failure"


def message_of(transaction: Transaction) -> str:
    return _MESSAGES.get(transaction.outcome, "Transaction failed")


def told(transaction: Transaction, form: str) -> dict[str, Any]:
    """A callback, in the form of payouts or in that of collections."""
    operator = next(bank for bank, channel in BANKS.items() if channel == transaction.channel)
    receipt = transaction.receipt if transaction.has_moved else None
    common = {"message": message_of(transaction), "operator": operator, "amount": str(transaction.amount)}
    if form == "payouts":
        return common | {
            "initiatorReferenceId": transaction.reference,
            "fspReferenceId": receipt,
            "pgReferenceId": transaction.network_id,
            "status": status_of(transaction),
            "additionalProperties": {},
        }
    return common | {
        "transactionstatus": status_of(transaction),
        "utilityref": transaction.reference,
        "reference": transaction.network_id,
        "externalreference": transaction.network_id,
        "transid": transaction.network_id,
        "mnoreference": receipt,
        "msisdn": None,
        "submerchantAcc": None,
        "additionalProperties": {},
    }
