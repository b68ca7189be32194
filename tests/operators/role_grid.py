"""What each role of operators may open and do, written by hand: the pages, then the commands.

A path that ends in `…` stands for all that begins so. Every route of the pages is in exactly one row, and every command
that changes something.
"""

from collections.abc import Collection
from typing import NamedTuple

from malipo.operators.roles import Role

ALL = frozenset(Role)
READERS = frozenset({Role.MANAGER, Role.AUDITOR})
HELPERS = frozenset({Role.MANAGER, Role.SUPPORT})
MANAGERS = frozenset({Role.MANAGER})


class Area(NamedTuple):
    paths: Collection[str]
    looks: frozenset[Role]  # at a page
    sends: frozenset[Role]  # a form


PAGES = [
    # One's own account, and nothing of anybody else.
    Area(("/operator/logout", "/operator/confirm", "/operator/account…", "/operator/new-places…"), ALL, ALL),
    # Merchants, their payments and deliveries.
    Area(("/operator",), ALL, MANAGERS),
    Area(("/operator/cases/chosen…",), READERS, MANAGERS),
    Area(("/operator/cases", "/operator/cases/{payment}…"), ALL, MANAGERS),
    Area(("/operator/waiting",), MANAGERS, MANAGERS),
    Area(("/operator/attachments…",), READERS, MANAGERS),
    Area(("/operator/merchants…",), ALL, HELPERS),  # The one form sends a webhook again.
    Area(("/operator/callbacks",), ALL, MANAGERS),
    Area(("/operator/networks",), ALL, MANAGERS),
    Area(("/operator/numbers…",), ALL, MANAGERS),
    # Money, books and who did what.
    Area(("/operator/bookings…", "/operator/floats…"), READERS, MANAGERS),
    Area(("/operator/statements…", "/operator/exceptions…", "/operator/close…"), READERS, MANAGERS),
    Area(("/operator/bank…", "/operator/settlements…", "/operator/books…", "/operator/month…"), READERS, MANAGERS),
    Area(("/operator/invoices…",), READERS, MANAGERS),
    Area(("/operator/restore…", "/operator/vouch", "/operator/operators…"), READERS, MANAGERS),
    Area(("/operator/audit…",), READERS, MANAGERS),
    Area(("/operator/ledger",), READERS, READERS),  # A check reads.
]

# Of the commands that change something, the only one that is not a manager's alone: and of another's password it is.
COMMANDS = {"operators password": ALL}


def rows_of(path: str) -> list[Area]:
    return [area for area in PAGES if any(_has(each, path) for each in area.paths)]


def _has(row: str, path: str) -> bool:
    return path.startswith(row[:-1]) if row.endswith("…") else path == row
