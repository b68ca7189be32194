"""The first entry of a log: what it continues. Pure."""

_FIRST = "malipo receipt log v1\n"


def genesis_of(previous: str | None) -> str:
    """`previous`: the last checkpoint of the log before it, as its note. A first log continues nothing."""
    return _FIRST if previous is None else f"{_FIRST}\n{previous}"
