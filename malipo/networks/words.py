"""Text that every network takes. Their fields refuse punctuation, each in its own way."""

import re
import unicodedata

_OTHER = re.compile(r"[^A-Za-z0-9]+")


def cleaned(text: str, *, least: int, most: int) -> str:
    """Letters, digits and single spaces; a plain word where too little is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = _OTHER.sub(" ", plain).strip()[:most].strip()
    return words if len(words) >= least else "Payment"
