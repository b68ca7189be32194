"""Text that every network takes. Their fields refuse punctuation, each in its own way."""

import re
import unicodedata

_OTHER = re.compile(r"[^A-Za-z0-9]+")


def cleaned(text: str, *, least: int, most: int) -> str:
    """Letters, digits and single spaces; a plain word where too little is left."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    words = _OTHER.sub(" ", plain).strip()[:most].strip()
    return words if len(words) >= least else "Payment"
