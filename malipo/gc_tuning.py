"""Garbage collection: how often Python looks for cycles."""

import gc


def collect_rarely() -> None:
    """What is there now stays. Of what comes, nearly all goes by counting references: to look for cycles as often as
    Python does would cost a process that serves a twelfth of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
