"""Tuning of a serving process at its start: how often it collects cycles, and how many files it may open."""

import gc
import resource

_MOST_FILES = 65_536  # a socket is one


def collect_rarely() -> None:
    """Objects that exist now are never collected. Nearly all later ones are freed by their reference counts: looking
    for cycles as often as Python does by default would cost a serving process a twelfth of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def raise_file_limit() -> int:
    """Raise the limit of open files as far as the system allows, and return it. Many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _MOST_FILES if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
