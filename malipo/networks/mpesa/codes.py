"""What M-Pesa's codes mean: to a session, in the reply to a payment, in a callback, in the answer to a query."""

from malipo.networks.code_meanings import Table, confirmed, not_indexed, refused, refuses_us, unknown, waiting
from malipo.networks.connector import FailureCode, FailureDetail, Type

_PORTAL = "portal"
_OTHER_MARKET = "another market's list"
_INTEGRATIONS = "public integrations"
_LESOTHO = "one integration (Lesotho)"
_DISAGREE = "portal; one plugin disagrees"

# Before there is a session no payment was sent, and the code is about no customer.
SESSION: Table = {
    "INS-2": refuses_us("invalid API key", _OTHER_MARKET),
    "INS-989": refuses_us("session creation failed", _PORTAL),
    "INS-2001": refuses_us("initiator authentication error", "one library's test"),
}

_COLLECTIONS: Table = {
    "INS-0": confirmed("processed; without a receipt only taken in (waiting)", _PORTAL),
    "INS-1": unknown("internal error", _PORTAL, is_fault=True),
    "INS-2": refuses_us("invalid API key", _OTHER_MARKET),
    "INS-4": refused(FailureCode.INVALID_RECIPIENT, "user not active", _OTHER_MARKET, detail=FailureDetail.BARRED),
    "INS-5": refused(FailureCode.DECLINED, "cancelled by the customer", _OTHER_MARKET),
    "INS-6": refused(FailureCode.DECLINED, "failed: wrong PIN, declined", _PORTAL),
    "INS-9": unknown("request timeout", _PORTAL),
    "INS-10": unknown("duplicate: the first may have been paid", _PORTAL),
    "INS-13": refuses_us("invalid short code", _PORTAL),
    "INS-14": refuses_us("invalid reference", _OTHER_MARKET),
    "INS-15": refused(FailureCode.LIMIT_EXCEEDED, "invalid amount", _PORTAL),
    "INS-16": unknown("temporary overload", _OTHER_MARKET, is_fault=True),
    "INS-17": refuses_us("invalid length of the reference", _PORTAL),
    "INS-18": refuses_us("invalid transaction id", _PORTAL),
    "INS-19": refuses_us("invalid third-party reference", _OTHER_MARKET),
    "INS-20": refuses_us("a parameter is missing", _PORTAL),
    "INS-21": refuses_us("parameter validation failed", _PORTAL),
    "INS-22": refuses_us("invalid operation type", _OTHER_MARKET),
    "INS-23": unknown("unknown status", _PORTAL),
    "INS-24": refuses_us("invalid initiator id", _OTHER_MARKET),
    "INS-25": refuses_us("invalid security credential", _OTHER_MARKET),
    "INS-26": refuses_us("invalid currency", _PORTAL),
    "INS-28": refuses_us("invalid conversation id", _PORTAL),
    "INS-30": refuses_us("invalid description", _PORTAL),
    "INS-31": refuses_us("invalid description", _PORTAL),
    "INS-35": refused(FailureCode.REJECTED, "not the owner of the transaction", _PORTAL),
    **{
        f"INS-{number}": unknown("of direct debits only", _PORTAL)
        for number in (32, 36, 39, 40, 41, 42, 43, 50, 51, 58)
    },
    "INS-989": unknown("session creation failed, although a payment was sent", _PORTAL),
    "INS-990": refused(FailureCode.LIMIT_EXCEEDED, "the customer's limit of value", _PORTAL),
    "INS-991": refused(FailureCode.LIMIT_EXCEEDED, "the customer's limit of count", _PORTAL),
    "INS-992": refused(FailureCode.LIMIT_EXCEEDED, "several limits", _PORTAL),
    "INS-993": refused(FailureCode.LIMIT_EXCEEDED, "our organisation's limit of count", _PORTAL, has_alert=True),
    "INS-994": refused(FailureCode.LIMIT_EXCEEDED, "our organisation's limit of value", _PORTAL, has_alert=True),
    "INS-995": refused(FailureCode.LIMIT_EXCEEDED, "limit of a single transaction", _PORTAL),
    # The customer's account or our application: sources disagree, so one of these never stops the network.
    "INS-996": refused(
        FailureCode.REJECTED, "outside of usage time, or the customer's account", _DISAGREE, has_alert=True
    ),
    "INS-997": refuses_us("API not enabled", _PORTAL),
    "INS-998": refuses_us("invalid market", _PORTAL),
    "INS-2001": refused(
        FailureCode.REJECTED,
        "initiator authentication, or the customer's PIN",
        "another market's list; one plugin disagrees",
        has_alert=True,
    ),
    "INS-2002": refused(FailureCode.INVALID_RECIPIENT, "receiver invalid", _OTHER_MARKET),
    "INS-2006": refused(FailureCode.INSUFFICIENT_FUNDS, "insufficient balance of the payer", _PORTAL),
    "INS-2051": refused(FailureCode.INVALID_RECIPIENT, "invalid number", _PORTAL),
    "INS-2057": refuses_us("invalid language code", _OTHER_MARKET),
    "INS-6140": unknown("not found", _INTEGRATIONS),
}

REPLIES: dict[Type, Table] = {
    Type.COLLECTION: _COLLECTIONS,
    # The payer of a payout is us.
    Type.DISBURSEMENT: {
        **_COLLECTIONS,
        "INS-2006": refused(FailureCode.INSUFFICIENT_FUNDS, "our float is short", _PORTAL, has_alert=True),
    },
}

CALLBACKS: Table = {
    **_COLLECTIONS,
    "INS-0": confirmed("the money moved", _PORTAL),
    "0": confirmed("the money moved", _OTHER_MARKET),
}

# INS-23 and INS-6140 also come before a payment is indexed, so alone they never say that there is none. What else comes
# instead of INS-0 may be about the query, and says nothing about the payment.
QUERIES: Table = {
    "INS-0": unknown("the question was answered: the word decides", _PORTAL),
    "INS-6": unknown("failed: the question, or the payment", _LESOTHO),
    "INS-23": not_indexed("unknown status", _PORTAL),
    "INS-2006": unknown("insufficient balance", _LESOTHO),
    "INS-2051": unknown("invalid number", _LESOTHO),
    "INS-6140": not_indexed("not found", _INTEGRATIONS),
}

# output_ResponseTransactionStatus, in small letters.
WORDS: Table = {
    "completed": confirmed("the money moved, if it is not reversed", _PORTAL),
    "failed": refused(FailureCode.REJECTED, "failed", _INTEGRATIONS),
    "cancelled": refused(FailureCode.DECLINED, "cancelled", _INTEGRATIONS),
    "declined": refused(FailureCode.DECLINED, "declined", _INTEGRATIONS),
    "expired": refused(FailureCode.EXPIRED, "expired", _INTEGRATIONS),
    "rejected": refused(FailureCode.REJECTED, "rejected", _INTEGRATIONS),
    "reversed": refused(FailureCode.REJECTED, "the money went back", _INTEGRATIONS),
    "pending": waiting("under way", _INTEGRATIONS),
    "success": unknown("paid, it may be", _LESOTHO),
    "successful": unknown("paid, it may be", _LESOTHO),
    "transactioncomplete": unknown("paid, it may be", _LESOTHO),
}

TABLES: dict[str, Table] = {
    "session": SESSION,
    "collection": REPLIES[Type.COLLECTION],
    "payout": REPLIES[Type.DISBURSEMENT],
    "callback": CALLBACKS,
    "query": QUERIES,
    "word of a query": WORDS,
}
