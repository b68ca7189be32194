"""What ClickPesa's words mean: statuses of replies and queries, and errors.

Its errors have no codes, only an HTTP status and a message. So the messages whose meaning is known are listed; any
other is unknown. What webhook events mean is in `callbacks.py`.
"""

import re

from malipo.networks.code_meanings import Table, confirmed, refused, refuses_us, unknown, waiting
from malipo.networks.connector import FailureCode, FailureDetail, Type

_VENDOR = "vendor document"
_OUR_READING = "our reading of its words"

STATUSES: Table = {
    "SUCCESS": confirmed("the money moved", _VENDOR),
    "SETTLED": confirmed("the money moved, and was settled", _VENDOR),
    "FAILED": refused(FailureCode.REJECTED, "failed; the words say why", _VENDOR),
    "REFUNDED": refused(FailureCode.REJECTED, "the money went back", _VENDOR),
    "REVERSED": refused(FailureCode.REJECTED, "the money went back", _VENDOR),
    "PROCESSING": waiting("under way", _VENDOR),
    "PENDING": waiting("under way", _VENDOR),
    "AUTHORIZED": waiting("under way", _VENDOR),
    "ON-HOLD": waiting("under way", _VENDOR),
}

_COLLECTIONS: Table = {
    "400 reference": unknown("it has the reference already: the first may have been paid", _OUR_READING),
    "400 no account": refused(
        FailureCode.INVALID_RECIPIENT,
        "the number is not registered",
        _OUR_READING,
        detail=FailureDetail.NOT_REGISTERED,
    ),
    "400 phone": refused(FailureCode.INVALID_RECIPIENT, "invalid or unsupported phone number", _VENDOR),
    "400 balance": refused(FailureCode.INSUFFICIENT_FUNDS, "insufficient balance", _OUR_READING),
    "400 limit": refused(FailureCode.LIMIT_EXCEEDED, "outside of limits", _OUR_READING),
    "400 checksum": refuses_us("our checksum is wrong", _OUR_READING),
    # Ours or the customer's: it does not say.
    "400 validation": refused(FailureCode.REJECTED, "a field is wrong", _OUR_READING, has_alert=True),
    "404 methods": refuses_us("our account has no collection methods", _VENDOR),
    "409": unknown("it has the reference already: the first may have been paid", _VENDOR),
}
ERRORS: dict[Type, Table] = {
    Type.COLLECTION: _COLLECTIONS,
    Type.DISBURSEMENT: {
        **_COLLECTIONS,
        "400 balance": refused(FailureCode.INSUFFICIENT_FUNDS, "our float is short", _OUR_READING, has_alert=True),
    },
}

# A preview says this of a number that has no account. "Invalid" and "not supported" say nothing of an account.
NOT_REGISTERED = re.compile(r"not registered", re.IGNORECASE)

# By which words an error is known. The first that fits counts.
_MESSAGES = (
    ("400 reference", re.compile(r"duplicate|exist|already|in use|used", re.IGNORECASE)),
    ("400 no account", NOT_REGISTERED),
    ("400 phone", re.compile(r"(invalid|unsupported)[ a-z/]* phone ?number", re.IGNORECASE)),
    ("400 balance", re.compile(r"insufficient", re.IGNORECASE)),
    ("400 limit", re.compile(r"\b(limit|maximum|minimum)\b", re.IGNORECASE)),
    ("400 checksum", re.compile(r"checksum", re.IGNORECASE)),
    ("400 validation", re.compile(r"validation|invalid|must be|required", re.IGNORECASE)),
    ("404 methods", re.compile(r"no payment collection methods", re.IGNORECASE)),
)


def error_of(status: int, message: str) -> str:
    """The name under which an error stands in the table; the HTTP status, where its message is not listed."""
    named = (name for name, words in _MESSAGES if name.startswith(f"{status} ") and words.search(message))
    return next(named, str(status))


TABLES: dict[str, Table] = {
    "collection": ERRORS[Type.COLLECTION],
    "payout": ERRORS[Type.DISBURSEMENT],
    "status": STATUSES,
}
