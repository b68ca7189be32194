"""Texts in the characters that banks take. Pure.

Banks take the letters, digits and marks of SWIFT's set X, and refuse a file for one other character. A reference may
not begin or end with a slash, nor have two in a row. A line of an MT940 may not begin with `:` or `-`; and a cell of a
CSV file must not begin with a mark that a spreadsheet program takes for a formula. So no text begins with a mark.
"""

import re
import unicodedata

_OTHER = re.compile(r"[^A-Za-z0-9/\-?:().,'+ ]+")
_SPACES = re.compile(r" +")
_SLASHES = re.compile(r"/{2,}")
_MARKS_BEFORE = "/-?:).,'+ "
# Letters that have no parts, and marks with a meaning.
_PAIRS = (
    "ß=ss æ=ae Æ=AE œ=oe Œ=OE ø=o Ø=O ł=l Ł=L đ=d Đ=D ð=d Ð=D þ=th Þ=Th ı=i ŋ=ng Ŋ=Ng &=+ _=- –=- —=- "
    "‘=' ’=' ʼ=' `=' ´=' ;=, [=( ]=) {=( }=) \\=/ |=/ !=. @=(at)"
)
_INSTEAD = str.maketrans(dict(each.split("=") for each in _PAIRS.split()))


def bank_text(text: str, most: int, instead: str = "-") -> str:
    """The text in the banks' characters, at most so long; `instead` if nothing of it is left."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_INSTEAD))
    plain = "".join(each for each in decomposed if not unicodedata.combining(each)).translate(_INSTEAD)
    plain = _SLASHES.sub("/", _SPACES.sub(" ", _OTHER.sub(" ", plain)))
    return plain.lstrip(_MARKS_BEFORE)[:most].rstrip("/ ") or instead


def is_bank_text(text: str) -> bool:
    """Whether a bank takes the text as it is."""
    return bool(text) and _OTHER.search(text) is None and "//" not in text and text.strip("/ ") == text


def loses_letters(text: str) -> bool:
    """Whether letters or digits of the text have no counterpart in the banks' characters, such as those of another
    script: the file would name somebody else, or nobody."""
    return not any(map(str.isalnum, bank_text(text, len(text) or 1))) or any(
        unicodedata.category(each)[0] in "LN" and bank_text(each, 1, "") == "" for each in text
    )
