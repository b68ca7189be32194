"""M-Pesa's rules: formats of fields, error codes, and what each code says. Pure tables."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from malipo_simulator import phone
from malipo_simulator.behaviour import Outcome, PaymentKind

MARKET = "vodacomTZN"

# Code: HTTP status, description.
CODES: Mapping[str, tuple[int, str]] = {
    "INS-0": (201, "Request processed successfully"),
    "INS-1": (400, "Internal Error"),
    "INS-5": (401, "Transaction cancelled by customer"),
    "INS-6": (401, "Transaction Failed"),
    "INS-9": (408, "Request timeout"),
    "INS-10": (409, "Duplicate Transaction"),
    "INS-13": (400, "Invalid Shortcode Used"),
    "INS-15": (400, "Invalid Amount Used"),
    "INS-16": (503, "Unable to handle the request due to a temporary overloading"),
    "INS-17": (400, "Invalid Transaction Reference. Length Should Be Between 1 and 20."),
    "INS-20": (400, "Not All Parameters Provided. Please try again."),
    "INS-21": (400, "Parameter validations failed. Please try again."),
    "INS-23": (400, "Unknown Status Contact M-Pesa Support"),
    "INS-26": (400, "Invalid Currency Used"),
    "INS-28": (400, "Invalid ThirdPartyConversationID Used"),
    "INS-30": (400, "Invalid Purchased Items Description Used"),
    "INS-31": (400, "Invalid Payment Items Description Used"),
    "INS-989": (400, "Session Creation Failed"),
    "INS-998": (400, "Invalid Market"),
    "INS-2001": (401, "Initiator authentication error."),
    "INS-2002": (401, "Receiver Party is invalid"),
    "INS-2006": (422, "Insufficient balance"),
    "INS-2051": (400, "MSISDN invalid"),
    "INS-6140": (400, "Transaction not found"),
}
UNLISTED = (400, "Error")

# The sandbox's immediate answers about these numbers, without a payment. The one that ends in 1 pays.
_TRIGGER_CODES = {
    PaymentKind.COLLECTION: ("INS-9", "INS-9", "INS-6", "INS-1", "INS-6", "INS-15", "INS-2006", "INS-16"),
    PaymentKind.DISBURSEMENT: ("INS-1", "INS-6", "INS-9", "INS-15", "INS-2006", "INS-16"),
}
TRIGGERS = {
    kind: {f"{number:012}": code for number, code in enumerate(codes, 2)} for kind, codes in _TRIGGER_CODES.items()
}
FOUND_TRIGGER = "000000000001"
QUERY_TRIGGERS = {"000000000002": "INS-1", "000000000003": "INS-6", "000000000007": "INS-16"}

CODE_OF = {
    Outcome.SUCCESS: "INS-0",
    Outcome.DECLINED: "INS-5",
    Outcome.BALANCE_TOO_LOW: "INS-2006",
    Outcome.EXPIRED: "INS-9",
    Outcome.NOT_REGISTERED: "INS-2002",
    Outcome.FLOAT_TOO_LOW: "INS-2006",
    Outcome.FAILED: "INS-6",
    Outcome.REVERSED: "INS-0",
}
# A callback is final, and a timeout would not be.
CALLBACK_RESULT_OF = {
    **{outcome: (code, CODES[code][1]) for outcome, code in CODE_OF.items()},
    Outcome.EXPIRED: ("INS-6", "Transaction Failed: the customer did not answer in time"),
}

# The values of output_ResponseTransactionStatus, once there is an outcome.
STATUS_OF: Mapping[Outcome | None, str] = {
    Outcome.SUCCESS: "Completed",
    Outcome.REVERSED: "Completed",
    Outcome.DECLINED: "Cancelled",
    Outcome.EXPIRED: "Expired",
    Outcome.BALANCE_TOO_LOW: "Failed",
    Outcome.NOT_REGISTERED: "Failed",
    Outcome.FLOAT_TOO_LOW: "Failed",
    Outcome.FAILED: "Failed",
}


class FieldRule(NamedTuple):
    field: str
    pattern: re.Pattern[str]
    code: str


def _rule(field: str, pattern: str, code: str) -> FieldRule:
    return FieldRule(field, re.compile(pattern, re.ASCII), code)


_COUNTRY = _rule("input_Country", r"TZN", "INS-998")
_PROVIDER = _rule("input_ServiceProviderCode", r"[0-9A-Za-z]{4,12}", "INS-13")
_CONVERSATION = _rule("input_ThirdPartyConversationID", r"[\w ]{1,40}", "INS-28")
_PAYMENT = (
    _rule("input_Amount", r"\d*\.?\d+", "INS-15"),
    _rule("input_CustomerMSISDN", r"\d{12,14}", "INS-2051"),
    _COUNTRY,
    _rule("input_Currency", r"TZS", "INS-26"),
    _PROVIDER,
    _rule("input_TransactionReference", r"[\w ]{1,20}", "INS-17"),
    _CONVERSATION,
)
PAYMENT_RULES = {
    PaymentKind.COLLECTION: (*_PAYMENT, _rule("input_PurchasedItemsDesc", r"[\w ]{1,256}", "INS-30")),
    PaymentKind.DISBURSEMENT: (*_PAYMENT, _rule("input_PaymentItemsDesc", r"[\w ]{1,256}", "INS-31")),
}
QUERY_RULES = (
    _rule("input_QueryReference", r"[0-9A-Za-z]{1,32}", "INS-21"),
    _PROVIDER,
    _CONVERSATION,
    _COUNTRY,
)


def take_number(fields: dict[str, object]) -> None:
    """The sandbox takes an amount as a number too."""
    amount = fields.get("input_Amount")
    if type(amount) in (int, float):  # and not true, which Python would take for one
        fields["input_Amount"] = str(amount)


def refusal(fields: Mapping[str, object], rules: tuple[FieldRule, ...], provider_code: str) -> str | None:
    """The code of the first mistake; None if there is none."""
    for rule in rules:
        if not fields.get(rule.field):
            return "INS-20"
    for field, pattern, code in rules:
        value = fields[field]
        if not isinstance(value, str):
            return "INS-21"
        if not pattern.fullmatch(value):
            return code
    return None if fields["input_ServiceProviderCode"] == provider_code else "INS-13"


def amount_of(text: str) -> int | None:
    """The amount in whole shillings; None if there is none, and for cents, which cannot be paid."""
    whole, _, part = text.partition(".")
    if part.strip("0") or len(whole) > 12:
        return None
    return int(whole or 0) or None


def phone_of(msisdn: str, *, is_sandbox: bool) -> str | None:
    if is_sandbox and msisdn == phone.TEST_NUMBER:
        return msisdn
    return phone.read(msisdn) if msisdn.startswith("255") else None
