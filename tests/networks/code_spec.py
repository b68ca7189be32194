"""Every code of every network, by hand from their documentation, and what it means where. Whatever is not here is UNKNOWN."""

from malipo.networks.connector import Verdict
from tests.networks.verdict_words import (
    AMBIGUOUS,
    AMBIGUOUS_RECIPIENT,
    DECLINED,
    EXPIRED,
    FAIL_CFG,
    FLOAT_SHORT,
    INSUFFICIENT,
    LIMIT,
    MISSING,
    NOT_INDEXED,
    OUR_LIMIT,
    PENDING,
    RECIPIENT,
    REJECTED,
    SUCCESS,
    UNKNOWN,
    Outcome,
)

FAULT = Outcome(Verdict.UNKNOWN, is_fault=True)

Meanings = dict[Outcome, tuple[str, ...]]


def _words(*words: str) -> tuple[str, ...]:
    """Capital letters do not matter in these."""
    return (*words, *(word.lower() for word in words))


def _ins(*numbers: int) -> tuple[str, ...]:
    return tuple(f"INS-{number}" for number in numbers)


_MPESA_REPLY: Meanings = {
    PENDING: _ins(0),  # without a receipt
    FAULT: _ins(1, 16),
    UNKNOWN: _ins(9, 10, 23, 32, 36, 39, 40, 41, 42, 43, 50, 51, 58, 989, 6140),
    FAIL_CFG: _ins(2, 13, 14, 17, 18, 19, 20, 21, 22, 24, 25, 26, 28, 30, 31, 997, 998, 2057),
    AMBIGUOUS: _ins(996, 2001),
    RECIPIENT: _ins(4, 2002, 2051),
    DECLINED: _ins(5, 6),
    LIMIT: _ins(15, 990, 991, 992, 995),
    OUR_LIMIT: _ins(993, 994),
    REJECTED: _ins(35),
    INSUFFICIENT: _ins(2006),
}
MPESA: dict[str, Meanings] = {
    "collection": _MPESA_REPLY,
    "payout": {each: codes for each, codes in _MPESA_REPLY.items() if each is not INSUFFICIENT}
    | {FLOAT_SHORT: _ins(2006)},
    "callback": {each: codes for each, codes in _MPESA_REPLY.items() if each is not PENDING}
    | {SUCCESS: (*_ins(0), "0")},
    "query": {NOT_INDEXED: _ins(23, 6140), UNKNOWN: _ins(0, 1, 6, 9, 2006, 2051)},
    "word": {
        SUCCESS: _words("Completed"),
        REJECTED: _words("Failed", "Rejected", "Reversed"),
        DECLINED: _words("Cancelled", "Declined"),
        EXPIRED: _words("Expired"),
        PENDING: _words("Pending"),
        UNKNOWN: ("N/A", "timeout", "Success", "Successful", "TransactionComplete"),
    },
}


def _dp(family: int, *numbers: int) -> tuple[str, ...]:
    return tuple(f"DP00{family}0000{1000 + number}" for number in numbers)


def _router(*numbers: str) -> tuple[str, ...]:
    return tuple(f"ROUTER{number}" for number in numbers)


def _esb(*numbers: str) -> tuple[str, ...]:
    return tuple(f"ESB{number}" for number in numbers)


_AIRTEL_CFG = (
    *_router("001", "003", "005", "006", "007", "112", "114", "115", "116", "119"),
    *_esb("000034", "000035", "000039"),
)
_AIRTEL_UNKNOWN = (
    *_router("117"),
    *_esb("000001", "000004", "000008", "000010", "000014", "0000900", "000041", "000045"),
    "0000900",
)
_LETTERS: Meanings = {SUCCESS: ("TS",), REJECTED: ("TF",), EXPIRED: ("TE",), AMBIGUOUS: ("TR",), PENDING: ("TIP",)}
AIRTEL: dict[str, Meanings] = {
    "collection": {
        UNKNOWN: (*_dp(8, 0, 24, 25), *_AIRTEL_UNKNOWN),
        PENDING: _dp(8, 1, 6),
        DECLINED: _dp(8, 2, 8),
        LIMIT: _dp(8, 3, 4),
        REJECTED: (*_dp(8, 5, 9), *_esb("000011")),
        INSUFFICIENT: _dp(8, 7),
        RECIPIENT: (*_dp(8, 10), *_esb("000033", "000036")),
        FAIL_CFG: (*_dp(8, 26), *_AIRTEL_CFG),
        EXPIRED: _dp(8, 29),
    },
    "payout": {
        UNKNOWN: (*_dp(9, 0, 11, 14, 15, 17), *_AIRTEL_UNKNOWN),
        SUCCESS: _dp(9, 1),
        PENDING: _dp(9, 6),
        LIMIT: _dp(9, 3, 4),
        REJECTED: (*_dp(9, 5, 13), *_esb("000011")),
        FLOAT_SHORT: _dp(9, 7),
        RECIPIENT: (*_dp(9, 9, 12), *_esb("000033", "000036")),
        FAIL_CFG: (*_dp(9, 10, 16), *_AIRTEL_CFG),
        AMBIGUOUS: _dp(9, 18),
        AMBIGUOUS_RECIPIENT: _dp(9, 19),
    },
    # What may be about the question itself says nothing of the payment: failed, signatures, configuration.
    "collection's enquiry": {
        SUCCESS: _dp(8, 1),
        MISSING: (*_dp(8, 25), *_esb("000045")),
        DECLINED: _dp(8, 2, 8),
        LIMIT: _dp(8, 3, 4),
        PENDING: _dp(8, 6),
        INSUFFICIENT: _dp(8, 7),
        REJECTED: _dp(8, 9),
        RECIPIENT: _dp(8, 10),
        EXPIRED: _dp(8, 29),
    },
    "payout's enquiry": {
        SUCCESS: _dp(9, 1),
        MISSING: (*_dp(9, 15), *_esb("000045")),
        LIMIT: _dp(9, 3, 4),
        PENDING: _dp(9, 6),
        FLOAT_SHORT: _dp(9, 7),
        RECIPIENT: _dp(9, 9, 12),
        REJECTED: _dp(9, 13),
    },
    "letters": _LETTERS,
    "callback": _LETTERS,
}


def _mandate(*ends: str) -> tuple[str, ...]:
    return tuple(f"DebitMandate-10-{end}" for end in ends)


TIGO: dict[str, Meanings] = {
    "push": {
        PENDING: ("BILLER-18-0000-S",),
        UNKNOWN: (*_mandate("1000-E", "5000-E"), "DuplicateRefID"),
        FAIL_CFG: (
            *_mandate("2001-E", "2003-E", "3000-E", "2020-V", "2038-V"),
            *("BILLER-18-3021-E", "BILLER-18-3022-E", "BILLER-18-3040-E"),
        ),
        RECIPIENT: _mandate("2002-E", "2004-V", "2040-V", "2005-E"),
        LIMIT: ("BILLER-18-3018-E", "BILLER-18-3019-E", "BILLER-18-3020-E"),
    },
    "payout": {
        SUCCESS: ("0", "200"),
        FAIL_CFG: ("00026", "26", "2117", "02117"),
        LIMIT: (
            "00031",
            "31",
            "410",
            "00410",
            "60018",
            "00042",
            "42",
            "60014",
            "60024",
            "60017",
            "60021",
            "60028",
            "60030",
        ),
        RECIPIENT: ("317", "00317", "60074"),
        FLOAT_SHORT: ("60019",),
        UNKNOWN: ("100",),
    },
    "query": {UNKNOWN: tuple(f"GetSOError{number:03}" for number in range(30))},
    "word": {
        SUCCESS: _words("Posted", "Refund Declined"),
        REJECTED: _words("Declined"),
        AMBIGUOUS: _words("Refund"),
    },
    "callback": {SUCCESS: ("true",), REJECTED: ("false",)},
}

_HALOPESA: Meanings = {
    FAIL_CFG: ("9001", "9002", "9003", "9005", "9006", "9007", "9008", "9010"),
    INSUFFICIENT: ("9009",),
    UNKNOWN: ("9004", "9011", "9012"),
}
HALOPESA: dict[str, Meanings] = {
    "push": _HALOPESA | {PENDING: ("0",)},
    "callback": _HALOPESA | {SUCCESS: ("0",)},
}

_STATUSES: Meanings = {
    SUCCESS: ("SUCCESS", "SETTLED"),
    REJECTED: ("FAILED", "REFUNDED", "REVERSED"),
    PENDING: ("PROCESSING", "PENDING", "AUTHORIZED", "ON-HOLD"),
}
CLICKPESA: dict[str, Meanings] = {
    "collection": _STATUSES,
    "payout": _STATUSES,
    "collection's query": _STATUSES,
    "payout's query": _STATUSES,
    "event": {
        SUCCESS: ("PAYMENT RECEIVED",),
        REJECTED: ("PAYMENT FAILED", "PAYOUT REVERSED", "PAYOUT REFUNDED"),
        PENDING: ("PAYOUT INITIATED",),
        UNKNOWN: ("DEPOSIT RECEIVED",),
    },
    "bad request": {
        RECIPIENT: ("Invalid / unsupported phone number",),
        FAIL_CFG: ("Invalid checksum",),
        AMBIGUOUS: ("Validation failed",),
        UNKNOWN: ("Order reference already used", "Account has no payment collection methods"),
    },
    "not found": {FAIL_CFG: ("Account has no payment collection methods",)},
}

_OUTCOMES: Meanings = {
    SUCCESS: ("success", "SUCCESS"),
    REJECTED: ("failure", "FAILURE"),
    PENDING: ("pending", "PENDING"),
}
AZAMPAY: dict[str, Meanings] = {
    "query": _OUTCOMES,
    "callback": _OUTCOMES,
    "callback as of a collection": _OUTCOMES,
    "bad request": {
        FAIL_CFG: ("Invalid BankName.", "Invalid Checksum"),
        AMBIGUOUS: (
            "Potential XSS Detected",
            "Potential SQL Injection Detected",
            "Invalid request data: Destination.BankName: The BankName field is required.",
            "One or more validation errors occurred.",
        ),
        UNKNOWN: ("Detected duplicate transaction: Duplicate ExternalReferenceId", "Transaction not found"),
        FAULT: ("Request expired",),
    },
    "forbidden": {
        UNKNOWN: ("Duplicate External Reference Id", "Invalid BankName."),
        FAULT: ("Request expired",),
    },
}
