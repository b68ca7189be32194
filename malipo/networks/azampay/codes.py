"""What AzamPay's words mean: statuses of queries and callbacks, and errors of payouts.

It has published no list of codes, and its errors have none. So the messages whose meaning somebody has seen or
documented are listed; any other is unknown. A refusal gives a payout's money back, so only what AzamPay says before it
takes a payout in is one. "Transaction not found" is not: it may not be found yet, or not under this bank's name.
"""

import re

from malipo.networks.code_meanings import CodeMeaning, Table, confirmed, refused, refuses_us, unknown, waiting
from malipo.networks.connector import FailureCode, Verdict

_GUIDE = "vendor document (Rwanda)"
_BOTH = "vendor document (Rwanda), vendor's callback (Tanzania)"
_SEEN = "two integrators, test host; vendor document (Rwanda)"
_INTEGRATOR = "one integrator"
_OUR_READING = "our reading of its words"

STATUSES: Table = {
    "success": confirmed("the money moved", _BOTH),
    "failure": refused(FailureCode.REJECTED, "failed; the words say why", _BOTH),
    "pending": waiting("under way", _GUIDE),
}

ERRORS: Table = {
    "duplicate": unknown("it has the reference already: the first may have been paid", _SEEN),
    "expired": CodeMeaning(
        verdict=Verdict.UNKNOWN,
        says="the time in our request is too old: a clock is off",
        source=_INTEGRATOR,
        is_fault=True,
        has_alert=True,
    ),
    "bank name": refuses_us("it does not know the name of the network, or may not pay there for us", _INTEGRATOR),
    "checksum": refuses_us("our checksum is wrong", _OUR_READING),
    "blocked": refused(FailureCode.REJECTED, "a text looks like an attack to it", _GUIDE, has_alert=True),
    "validation": refused(FailureCode.REJECTED, "a field is wrong", _GUIDE, has_alert=True),
}

# By which words an error is known. The first that fits counts.
_MESSAGES = (
    ("duplicate", re.compile(r"duplicate", re.IGNORECASE)),
    ("expired", re.compile(r"request (has )?expired", re.IGNORECASE)),
    ("bank name", re.compile(r"invalid bank ?name", re.IGNORECASE)),
    ("checksum", re.compile(r"\b(invalid|wrong|incorrect) checksum\b|\bchecksum (is )?(invalid|wrong)", re.IGNORECASE)),
    ("blocked", re.compile(r"potential (xss|sql injection) detected", re.IGNORECASE)),
    ("validation", re.compile(r"^invalid request data\b|validation errors occurred", re.IGNORECASE)),
)
# The HTTP statuses that come with a refusal. Any other may be a proxy's, or mean something that nobody has seen.
_REFUSING = (200, 400)

# A number without an account, where names are looked up.
NOT_REGISTERED = re.compile(r"account not found|not registered|does not exist", re.IGNORECASE)


def error_of(status: int, message: str) -> str:
    """The name under which an error stands in the table; the HTTP status, where its message is not listed."""
    named = next((name for name, words in _MESSAGES if words.search(message)), None)
    if named is None or (ERRORS[named].verdict is Verdict.REFUSED and status not in _REFUSING):
        return str(status)
    return named


TABLES: dict[str, Table] = {"payout": ERRORS, "status": STATUSES, "callback": STATUSES}
