"""What Tigo Pesa's codes mean: in the reply to a push, to a payout, to a query, and in a callback."""

from collections.abc import Iterable

from malipo.networks.code_meanings import Table, confirmed, missing, refused, refuses_us, unknown, waiting
from malipo.networks.connector import FailureCode, FailureDetail

_INTEGRATIONS = "public integrations"
_VENDOR = "vendor document"
_QUERY = "a gateway product and a mock"

PUSHES: Table = {
    "BILLER-18-0000-S": waiting("accepted", _INTEGRATIONS),
    "BILLER-18-3018-E": refused(FailureCode.LIMIT_EXCEEDED, "limit of the sum", _INTEGRATIONS),
    "BILLER-18-3019-E": refused(FailureCode.LIMIT_EXCEEDED, "amount outside of limits", _INTEGRATIONS),
    "BILLER-18-3020-E": refused(FailureCode.LIMIT_EXCEEDED, "limit of frequency", _INTEGRATIONS),
    "BILLER-18-3021-E": refuses_us("our credentials are wrong", _INTEGRATIONS),
    "BILLER-18-3022-E": refuses_us("our biller is not active", _INTEGRATIONS),
    "BILLER-18-3040-E": refuses_us("our biller's number is wrong", _INTEGRATIONS),
    "DebitMandate-10-1000-E": unknown("internal error", _INTEGRATIONS),
    "DebitMandate-10-2001-E": refuses_us("user name or password empty", _INTEGRATIONS),
    "DebitMandate-10-2002-E": refused(FailureCode.INVALID_RECIPIENT, "customer's number missing", _INTEGRATIONS),
    "DebitMandate-10-2003-E": refuses_us("password missing", _INTEGRATIONS),
    "DebitMandate-10-2004-V": refused(FailureCode.INVALID_RECIPIENT, "customer's number invalid", _INTEGRATIONS),
    "DebitMandate-10-2005-E": refused(
        FailureCode.INVALID_RECIPIENT, "customer not registered", _INTEGRATIONS, detail=FailureDetail.NOT_REGISTERED
    ),
    "DebitMandate-10-2020-V": refuses_us("invalid reference", _INTEGRATIONS),
    "DebitMandate-10-2038-V": refuses_us("our biller's number is missing", _INTEGRATIONS),
    "DebitMandate-10-2040-V": refused(FailureCode.INVALID_RECIPIENT, "customer's number invalid", _INTEGRATIONS),
    "DebitMandate-10-3000-E": refuses_us("our credentials are wrong", _INTEGRATIONS),
    "DebitMandate-10-5000-E": unknown("back-end error", _INTEGRATIONS),
    "DuplicateRefID": unknown("duplicate: the first may have been paid", "one mock"),
}

# TXNSTATUS of a payout, without leading zeros: the same status comes as 317 and as 00317.
PAYOUTS: Table = {
    "0": confirmed("success", _VENDOR),
    "200": confirmed("success", _VENDOR),
    "26": refuses_us("our PIN has expired", _VENDOR),
    "31": refused(FailureCode.LIMIT_EXCEEDED, "above the allowed amount", _VENDOR),
    "42": refused(FailureCode.LIMIT_EXCEEDED, "not a permitted multiple", _VENDOR),
    "100": unknown("general error: hold the amount until it is reconciled", _VENDOR),
    "317": refused(FailureCode.INVALID_RECIPIENT, "recipient barred", _VENDOR, detail=FailureDetail.BARRED),
    "410": refused(FailureCode.LIMIT_EXCEEDED, "above the allowed amount", _VENDOR),
    "2117": refuses_us("our account is barred", _VENDOR),
    "60014": refused(FailureCode.LIMIT_EXCEEDED, "limit of a day", _VENDOR),
    "60017": refused(FailureCode.LIMIT_EXCEEDED, "below the minimum", _VENDOR),
    "60018": refused(FailureCode.LIMIT_EXCEEDED, "above the allowed amount", _VENDOR),
    "60019": refused(FailureCode.INSUFFICIENT_FUNDS, "our float is short", _VENDOR, has_alert=True),
    "60021": refused(FailureCode.LIMIT_EXCEEDED, "recipient's count of a day", _VENDOR),
    "60024": refused(FailureCode.LIMIT_EXCEEDED, "limit of a day", _VENDOR),
    "60028": refused(FailureCode.LIMIT_EXCEEDED, "recipient's maximum", _VENDOR),
    "60030": refused(FailureCode.LIMIT_EXCEEDED, "recipient's balance at its maximum", _VENDOR),
    "60074": refused(
        FailureCode.INVALID_RECIPIENT, "recipient has no wallet", _VENDOR, detail=FailureDetail.NOT_REGISTERED
    ),
}

# TXNSTATUS of a query, in small letters.
WORDS: Table = {
    "posted": confirmed("the money moved", _QUERY),
    "declined": refused(FailureCode.REJECTED, "it was not paid; the callback's words say why", _QUERY),
    "refund": refused(FailureCode.REJECTED, "the money was given back", _QUERY, has_alert=True),
    "refund declined": confirmed("the money moved, and was not given back", _QUERY, has_alert=True),
}

# Status of a callback.
CALLBACKS: Table = {
    "true": confirmed("the money moved", _INTEGRATIONS),
    "false": refused(FailureCode.REJECTED, "it was not paid; the words say why", _INTEGRATIONS),
}


def queries(not_found: Iterable[str]) -> Table:
    """RESULTCODE of a query. What is not 0 may be wrong credentials as well as "in progress".

    No code for "no such reference" was ever published. An operator whose contract names it puts it on the list.
    """
    answered = unknown("the question was answered: the word decides", _QUERY)
    return {"0": answered} | dict.fromkeys(not_found, missing("no such reference", "your contract"))


TABLES: dict[str, Table] = {
    "push": PUSHES,
    "payout": PAYOUTS,
    "query": queries(()),
    "word of a query": WORDS,
    "callback": CALLBACKS,
}
