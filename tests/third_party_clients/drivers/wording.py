"""The words in which every driver says what its library understood, and the loop in which it is asked."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

ACCEPTED = "accepted"  # taken, and not yet decided
PAID = "paid"
FAILED = "failed"
PENDING = "pending"
REFUSED = "refused"
DUPLICATE = "duplicate"
NOT_FOUND = "not found"
NOT_LET_IN = "not let in"  # the credentials are wrong
UNKNOWN = "unknown"  # the library says that it cannot tell
BROKE = "broke"  # an error of the library's own, from which nobody learns anything

Understood = tuple[str, object]  # the word, and what of the library's answer is worth showing
Doing = Callable[..., Understood]


def serve(open_: Callable[[str, Any], Mapping[str, Doing]]) -> None:
    """Each line that comes in is one thing to do, with a new client; each line that goes out is what was understood."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # Some libraries print.
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            word, shown = open_(asked["url"], asked["credentials"])[asked["do"]](**asked["fields"])
        except Exception as error:
            word, shown = BROKE, f"{type(error).__name__}: {error}"
        print(json.dumps([word, shown]), file=answers, flush=True)
