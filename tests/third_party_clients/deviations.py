"""Where a library understands something else than what happened, and why that is the library's own doing.

A line that is no longer needed makes its test fail, so the table cannot outlive what it excuses.
"""

from typing import NamedTuple


class Deviation(NamedTuple):
    understood: tuple[str, ...]
    why: str
    moved: list[tuple[str, int]] | None = None  # where even that is not as it ought to be


_IN_THE_BODY = "it puts a query's parameters into the body of a GET; M-Pesa reads the address"
_TWELVE_DIGITS = "it sends the number with its country code; Airtel takes nine digits"
_NOT_FOUND = "of an unknown id it says only that the status is not one it knows"
_CHARGES = "its payout posts to the path of collections, so the payee is asked to pay"
_SENDS_AGAIN = "it sends a lost request again and shows the refusal of the repeat; the first one was carried out"
_NO_TIME = "it sends no dateInEpoch, signs without it, and has the amount as text: no integrator had that accepted"
_SWALLOWS = "it throws 'Transaction failed' within its own try, polls on, and says that it polled too often"

DEVIATIONS = {
    ("pypesa", "wrong credentials"): Deviation(("broke",), "it looks for the session id before it looks at the code"),
    ("python-pesa", "approved"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("python-pesa", "declined"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("python-pesa", "balance too low"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("python-pesa", "prompt expires"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("python-pesa", "unknown reference"): Deviation(("refused",), _IN_THE_BODY),
    ("python-pesa", "reply lost"): Deviation(("unknown", "refused"), _IN_THE_BODY),
    ("python-pesa", "paid out"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("@openpesa/pesa-js", "approved"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("@openpesa/pesa-js", "declined"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("@openpesa/pesa-js", "balance too low"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("@openpesa/pesa-js", "prompt expires"): Deviation(("accepted", "refused"), _IN_THE_BODY),
    ("@openpesa/pesa-js", "unknown reference"): Deviation(("refused",), _IN_THE_BODY),
    ("@openpesa/pesa-js", "reply lost"): Deviation(("unknown", "refused"), _IN_THE_BODY),
    ("@openpesa/pesa-js", "paid out"): Deviation(("accepted", "refused"), _CHARGES, [("charged", 1500)]),
    ("@openpesa/pesa-js", "payee not registered"): Deviation(("accepted",), _CHARGES),
    ("@openpesa/pesa-js", "merchant float too low"): Deviation(("accepted",), _CHARGES),
    ("@openpesa/pesa-js", "same payout twice"): Deviation(("accepted", "duplicate"), _CHARGES, [("charged", 1500)]),
    ("pyairtel", "approved"): Deviation(("refused", "unknown"), _TWELVE_DIGITS, []),
    ("pyairtel", "declined"): Deviation(("refused", "unknown"), _TWELVE_DIGITS),
    ("pyairtel", "balance too low"): Deviation(("refused", "unknown"), _TWELVE_DIGITS),
    ("pyairtel", "prompt expires"): Deviation(("refused", "unknown"), _TWELVE_DIGITS),
    ("pyairtel", "unknown reference"): Deviation(("unknown",), _NOT_FOUND),
    ("pyairtel", "same reference twice"): Deviation(("refused", "refused"), _TWELVE_DIGITS, []),
    ("pyairtel", "reply lost"): Deviation(("refused", "unknown"), _TWELVE_DIGITS, []),
    ("pyairtel", "wrong credentials"): Deviation(("unknown",), "it calls a refused token a network error"),
    ("pyairtel", "paid out"): Deviation(("refused",), _TWELVE_DIGITS, []),
    ("pyairtel", "same payout twice"): Deviation(("refused", "refused"), _TWELVE_DIGITS, []),
    ("airtel-money-node-sdk", "pays: declined"): Deviation(("unknown",), _SWALLOWS),
    ("airtel-money-node-sdk", "pays: balance too low"): Deviation(("unknown",), _SWALLOWS),
    ("airtel-money-node-sdk", "pays: reply lost"): Deviation(("refused",), _SENDS_AGAIN),
    ("azampay-python-sdk", "paid out"): Deviation(("refused",), _NO_TIME, []),
    ("azampay-python-sdk", "same payout twice"): Deviation(("refused", "refused"), _NO_TIME, []),
    ("clickpesa-python-sdk", "reply lost"): Deviation(("duplicate", "paid"), _SENDS_AGAIN),
}
