"""How long a reason or evidence is that an operator types: the audit log keeps it. Pure.

The use case, its page and its command ask here; each has its own sentence for a text that is refused.
"""

from typing import NamedTuple


class Bounds(NamedTuple):
    least: int
    most: int


REASON = Bounds(3, 500)  # why something is held, begun or accepted
EVIDENCE = Bounds(10, 1000)  # evidence about money


def is_within(text: str, bounds: Bounds) -> bool:
    """Whether the text, from which the caller has stripped spaces, is long enough, short enough and printable."""
    return bounds.least <= len(text) <= bounds.most and text.isprintable()
