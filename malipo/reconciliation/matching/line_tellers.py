"""Who told what is shown of a statement's line: they do not approve what another operator proposes about it. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from malipo.reconciliation.statements.store.statements import FETCHED_BY


class FactSource(NamedTuple):
    """A file tells a fact of a line as it is shown."""

    fact: str  # kind, key, phone, linked or details
    imported_by: str
    authors: tuple[str, ...] = ()  # who said how the file is read


def tellers_of(told: Sequence[FactSource], *, proposed_by: str) -> set[str]:
    """Who imported a file, or said how it is read, that tells what neither the worker's own files tell nor one that the
    proposer has imported. Of the proposer's files, those who said how they are read."""
    facts: dict[str, list[FactSource]] = defaultdict(list)
    for each in told:
        facts[each.fact].append(each)
    found: set[str] = set()
    for sources in facts.values():
        if any(each.imported_by == FETCHED_BY for each in sources):
            continue
        own = [each for each in sources if each.imported_by == proposed_by]
        found.update(name for each in own or sources for name in (each.imported_by, *each.authors))
    return found
