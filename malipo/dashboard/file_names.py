"""Names of downloaded files: their content, their merchant, their days. Pure."""

import re
import unicodedata
from datetime import date

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def attachment(
    what: str, ending: str, *, business: str, first: date | None, last: date | None, today: date
) -> dict[str, str]:
    """The header that names it. Letters that some systems cannot have in a name are left out or replaced."""
    plain = unicodedata.normalize("NFKD", business).encode("ascii", "ignore").decode()
    parts = (what, _NOT_IN_A_NAME.sub("-", plain).strip("-"), _days(first, last, today))
    return {"Content-Disposition": f'attachment; filename="{"_".join(each for each in parts if each)}.{ending}"'}


def _days(first: date | None, last: date | None, today: date) -> str:
    last = last or max(today, first or today)
    if first is None:
        return f"until_{last}"
    return f"{first}" if first == last else f"{first}_{last}"
