"""Garbage collection: how often Python looks for cycles."""

import gc


def collect_rarely() -> None:
    """Objects that exist now are never collected. Nearly all later ones are freed by their reference counts: looking
    for cycles as often as Python does by default would cost a serving process a twelfth of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
