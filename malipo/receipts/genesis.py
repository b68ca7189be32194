"""The first entry of a log: which log it continues. Pure."""

_FIRST = "malipo receipt log v1\n"


def genesis_of(previous: str | None) -> str:
    """The first entry. `previous` is the note of the last checkpoint of the earlier log; the first log of an
    installation continues none."""
    return _FIRST if previous is None else f"{_FIRST}\n{previous}"
