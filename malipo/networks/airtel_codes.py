"""What Airtel's codes say. A code that is not here says nothing."""

from malipo.networks import authorised
from malipo.networks.contract import Answer, FailureCode, Type, Verdict

SUCCESS = {Type.COLLECTION: "DP00800001001", Type.DISBURSEMENT: "DP00900001001"}
_IN_PROCESS = {"DP00800001006", "DP00900001006"}
MISSING = {"DP00800001025", "DP00900001015", "ESB000045"}

LETTERS = {"TF": FailureCode.REJECTED, "TE": FailureCode.EXPIRED, "TR": FailureCode.REJECTED}

_REFUSED: dict[str, FailureCode] = {
    "DP00800001002": FailureCode.DECLINED,  # wrong PIN
    "DP00800001003": FailureCode.LIMIT_EXCEEDED,
    "DP00800001004": FailureCode.LIMIT_EXCEEDED,  # below the least amount
    "DP00800001005": FailureCode.REJECTED,  # no PIN entered, or number not found
    "DP00800001007": FailureCode.INSUFFICIENT_FUNDS,
    "DP00800001008": FailureCode.DECLINED,
    "DP00800001009": FailureCode.REJECTED,  # do not honour
    "DP00800001010": FailureCode.INVALID_RECIPIENT,
    "DP00800001029": FailureCode.EXPIRED,
    "DP00900001003": FailureCode.LIMIT_EXCEEDED,
    "DP00900001004": FailureCode.LIMIT_EXCEEDED,
    "DP00900001005": FailureCode.REJECTED,
    "DP00900001007": FailureCode.INSUFFICIENT_FUNDS,  # our own float is short
    "DP00900001009": FailureCode.INVALID_RECIPIENT,
    "DP00900001012": FailureCode.INVALID_RECIPIENT,
    "DP00900001013": FailureCode.REJECTED,
    "ESB000011": FailureCode.REJECTED,
    "ESB000033": FailureCode.INVALID_RECIPIENT,
    "ESB000036": FailureCode.INVALID_RECIPIENT,
}
_FLOAT_IS_SHORT = "DP00900001007"

# It refused us and not the customer.
_MISCONFIGURED = {
    "DP00800001026",
    "DP00900001010",
    "DP00900001016",
    "DP00900001018",
    "DP00900001019",
    "ESB000034",
    "ESB000035",
    "ESB000039",
    *(f"ROUTER{number}" for number in ("001", "003", "005", "006", "007", "112", "114", "115", "116", "119")),
}

# Ambiguous, timed out, or already there: the enquiry decides. Airtel's advice for the last, a new id, would pay twice.
_UNKNOWN = {
    "DP00800001000",
    "DP00800001024",
    "DP00900001000",
    "DP00900001011",
    "DP00900001014",
    "DP00900001017",
    "ROUTER117",
    "ESB000001",
    "ESB000004",
    "ESB000008",
    "ESB000014",
    "ESB0000900",
    "ESB000041",
} | MISSING


def answer_of(response: str, result: str, detail: str) -> Answer | None:
    """What the first code that we know says. The older one only counts where the newer is missing."""
    for code in (response, result):
        if code in _IN_PROCESS:
            return Answer(verdict=Verdict.WAITING, code=code, detail=detail)
        if code in _MISCONFIGURED:
            return misconfigured(code, detail)
        if code in _UNKNOWN:
            return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail)
        if code in _REFUSED:
            alert = f"Airtel Money: our float is short ({code})." if code == _FLOAT_IS_SHORT else None
            return Answer(verdict=Verdict.REFUSED, code=code, detail=detail, failure_code=_REFUSED[code], alert=alert)
        if code.startswith("DP"):
            return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail)
    return None


def failure_of(code: str) -> FailureCode | None:
    return _REFUSED.get(code)


def alert_of(code: str, letters: str = "") -> str | None:
    if letters == "TR":
        return "Airtel Money has given the money back."
    return f"Airtel Money: our float is short ({code})." if code == _FLOAT_IS_SHORT else None


def is_misconfigured(code: str) -> bool:
    return code in _MISCONFIGURED


def misconfigured(code: str, detail: str) -> Answer:
    return authorised.misconfigured("Airtel Money", code, detail)
