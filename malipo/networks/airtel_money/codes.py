"""What Airtel's codes mean: in the reply to a payment and to an enquiry, and the letters of a transaction."""

from malipo.networks.code_meanings import Table, confirmed, missing, refused, refuses_us, unknown, waiting
from malipo.networks.connector import FailureCode, Type

_PORTAL = "portal"
_INTEGRATIONS = "public integrations"
_OUR_FLOAT = refused(FailureCode.INSUFFICIENT_FUNDS, "our float is short", _PORTAL, has_alert=True)

# Errors before the wallet, and the older result codes. Airtel's advice for a duplicate, a new id, would pay twice.
_ROUTER: Table = {
    "ROUTER001": refuses_us("wallet not configured", _PORTAL),
    "ROUTER003": refuses_us("a parameter is missing", _PORTAL),
    "ROUTER005": refuses_us("country route missing", _PORTAL),
    "ROUTER006": refuses_us("country route invalid", _PORTAL),
    "ROUTER007": refuses_us("not authorised for the country", _PORTAL),
    "ROUTER112": refuses_us("currency invalid", _PORTAL),
    "ROUTER114": refuses_us("our PIN could not be checked", _PORTAL),
    "ROUTER115": refuses_us("our PIN is wrong", _PORTAL),
    "ROUTER116": refuses_us("our PIN is wrongly encrypted", _PORTAL),
    "ROUTER117": unknown("timed out", _PORTAL),
    "ROUTER119": refuses_us("currency missing", _PORTAL),
    "0000900": unknown("general error", "public integrations (3)"),
    "ESB0000900": unknown("general error", _PORTAL),
    "ESB000001": unknown("ambiguous", _PORTAL),
    "ESB000004": unknown("ambiguous", _PORTAL),
    "ESB000008": unknown("field validation", _PORTAL),
    "ESB000010": unknown("ok: the response code decides", _PORTAL),
    "ESB000011": refused(FailureCode.REJECTED, "failed", _PORTAL),
    "ESB000014": unknown("the status could not be fetched", _PORTAL),
    "ESB000033": refused(FailureCode.INVALID_RECIPIENT, "length of the number", _PORTAL),
    "ESB000034": refuses_us("country not configured", _PORTAL),
    "ESB000035": refuses_us("currency not configured", _PORTAL),
    "ESB000036": refused(FailureCode.INVALID_RECIPIENT, "format of the number", _PORTAL),
    "ESB000039": refuses_us("vendor not configured", _PORTAL),
    "ESB000041": unknown("duplicate: the first may have been paid", _PORTAL),
    "ESB000045": unknown("no such transaction", _PORTAL),
}

_COLLECTIONS: Table = {
    **_ROUTER,
    "DP00800001000": unknown("ambiguous", _PORTAL),
    "DP00800001001": waiting("success: the prompt was sent", _PORTAL),
    "DP00800001002": refused(FailureCode.DECLINED, "wrong PIN", _PORTAL),
    "DP00800001003": refused(FailureCode.LIMIT_EXCEEDED, "the wallet's limit", _PORTAL),
    "DP00800001004": refused(FailureCode.LIMIT_EXCEEDED, "below the least amount", _PORTAL),
    "DP00800001005": refused(FailureCode.REJECTED, "no PIN entered, or number not found", _PORTAL),
    "DP00800001006": waiting("in process", _PORTAL),
    "DP00800001007": refused(FailureCode.INSUFFICIENT_FUNDS, "the customer's balance", _PORTAL),
    "DP00800001008": refused(FailureCode.DECLINED, "refused", _PORTAL),
    "DP00800001009": refused(FailureCode.REJECTED, "do not honour", _PORTAL),
    "DP00800001010": refused(FailureCode.INVALID_RECIPIENT, "barred or not registered", _PORTAL),
    "DP00800001024": unknown("timed out", _PORTAL),
    "DP00800001025": unknown("not found", _PORTAL),
    "DP00800001026": refuses_us("signature mismatch", _PORTAL),
    "DP00800001029": refused(FailureCode.EXPIRED, "expired", _PORTAL),
}

_PAYOUTS: Table = {
    **_ROUTER,
    "DP00900001000": unknown("ambiguous", _PORTAL),
    "DP00900001001": confirmed("success", _PORTAL),
    "DP00900001003": refused(FailureCode.LIMIT_EXCEEDED, "the day's maximum", _PORTAL),
    "DP00900001004": refused(FailureCode.LIMIT_EXCEEDED, "amount outside of limits", _PORTAL),
    "DP00900001005": refused(FailureCode.REJECTED, "failed", _PORTAL),
    "DP00900001006": waiting("in process", _PORTAL),
    "DP00900001007": _OUR_FLOAT,
    "DP00900001009": refused(FailureCode.INVALID_RECIPIENT, "recipient invalid", _PORTAL),
    "DP00900001010": refuses_us("payer not allowed", _PORTAL),
    "DP00900001011": unknown("a similar one exists", _PORTAL),
    "DP00900001012": refused(FailureCode.INVALID_RECIPIENT, "invalid number", _PORTAL),
    "DP00900001013": refused(FailureCode.REJECTED, "refused", _PORTAL),
    "DP00900001014": unknown("timed out, may have happened", _PORTAL),
    "DP00900001015": unknown("not found", _PORTAL),
    "DP00900001016": refuses_us("signature mismatch", _PORTAL),
    "DP00900001017": unknown("duplicate: the first may have been paid", _PORTAL),
    # Our credentials or the recipient: sources disagree, so one of these never stops the network.
    "DP00900001018": refused(FailureCode.REJECTED, "authentication", _INTEGRATIONS, has_alert=True),
    "DP00900001019": refused(
        FailureCode.INVALID_RECIPIENT,
        "recipient barred, or authentication",
        "public integrations (3), one disagrees",
        has_alert=True,
    ),
}

REPLIES: dict[Type, Table] = {Type.COLLECTION: _COLLECTIONS, Type.DISBURSEMENT: _PAYOUTS}

# An enquiry without letters. Here are only the codes that cannot be about the question itself: "failed", a signature or
# the format of a number may be, and so they say nothing of the payment.
_ABOUT_COLLECTIONS = ("1002", "1003", "1004", "1006", "1007", "1008", "1009", "1010", "1029")
_ABOUT_PAYOUTS = ("1003", "1004", "1006", "1007", "1009", "1012", "1013")
_NOT_FOUND: Table = {"ESB000045": missing("no such transaction", _PORTAL)}
ENQUIRIES: dict[Type, Table] = {
    Type.COLLECTION: {
        **{code: _COLLECTIONS[code] for code in (f"DP0080000{number}" for number in _ABOUT_COLLECTIONS)},
        "DP00800001001": confirmed("success", _PORTAL),
        "DP00800001025": missing("not found", _PORTAL),
        **_NOT_FOUND,
    },
    Type.DISBURSEMENT: {
        **{code: _PAYOUTS[code] for code in (f"DP0090000{number}" for number in _ABOUT_PAYOUTS)},
        "DP00900001001": confirmed("success", _PORTAL),
        "DP00900001015": missing("not found", _PORTAL),
        **_NOT_FOUND,
    },
}

# data.transaction.status of an enquiry and of a payout's reply, transaction.status_code of a callback.
LETTERS: Table = {
    "TS": confirmed("success", _PORTAL),
    "TF": refused(FailureCode.REJECTED, "failed", _PORTAL),
    "TE": refused(FailureCode.EXPIRED, "expired", _PORTAL),
    "TR": refused(FailureCode.REJECTED, "the money was given back", _INTEGRATIONS, has_alert=True),
    "TIP": waiting("in progress", _PORTAL),
    "TA": unknown("ambiguous", _PORTAL),
}

# Why it failed, where letters say that it did.
REASONS: Table = {**_COLLECTIONS, **_PAYOUTS}

TABLES: dict[str, Table] = {
    "collection": REPLIES[Type.COLLECTION],
    "payout": REPLIES[Type.DISBURSEMENT],
    "collection's enquiry": ENQUIRIES[Type.COLLECTION],
    "payout's enquiry": ENQUIRIES[Type.DISBURSEMENT],
    "letters": LETTERS,
}
