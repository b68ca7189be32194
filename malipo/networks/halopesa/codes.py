"""What HaloPesa's codes mean: in the reply to a push, and in the last callback.

There is no query, so only an operator can find out what an unlisted code meant. It is unknown all the same, never
guessed.
"""

from collections.abc import Collection

from malipo.networks.code_meanings import Table, confirmed, refused, refuses_us, unknown, waiting
from malipo.networks.connector import FailureCode

_INTEGRATIONS = "public integrations (3)"

REPLIES: Table = {
    "0": waiting("accepted", _INTEGRATIONS),
    "9001": refuses_us("the request cannot be parsed", _INTEGRATIONS),
    "9002": refuses_us("our address is not allowed", _INTEGRATIONS),
    "9003": refuses_us("our credentials are wrong", _INTEGRATIONS),
    "9004": unknown("duplicate: the first may have been paid", _INTEGRATIONS),
    "9005": refuses_us("bad reference", _INTEGRATIONS),
    "9006": refuses_us("our clock is too far off", _INTEGRATIONS),
    "9007": refuses_us("bad checksum", _INTEGRATIONS),
    "9008": refuses_us("function not registered", _INTEGRATIONS),
    "9009": refused(FailureCode.INSUFFICIENT_FUNDS, "the customer's balance", _INTEGRATIONS),
    "9010": refuses_us("our account is invalid", _INTEGRATIONS),
    "9011": unknown("transaction not found", _INTEGRATIONS),
    "9012": unknown("general system error", _INTEGRATIONS),
}

# The codes of callbacks with the response_type FIN. A callback of another type decides nothing.
CALLBACKS: Table = {**REPLIES, "0": confirmed("the money moved", _INTEGRATIONS)}


def callbacks(failed_codes: Collection[str]) -> Table:
    """The meanings of the codes in callbacks. HaloPesa has published none of the failures, so they are a setting."""
    listed = {
        code: refused(FailureCode.REJECTED, "failed; the words say why", "your contract") for code in failed_codes
    }
    return {**listed, **CALLBACKS}


TABLES: dict[str, Table] = {"push": REPLIES, "callback": CALLBACKS}
