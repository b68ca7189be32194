"""The sources of a line: the operators whose files contain a fact of it. They cannot approve another operator's
proposal about the line. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from malipo.reconciliation.statements.statement_file import FETCHED_BY


class FactSource(NamedTuple):
    """A fact of a line as it is shown, and a file that has it."""

    fact: str  # kind, key, phone, linked or details
    imported_by: str
    authors: tuple[str, ...] = ()  # of the layout that read the file


def sources_of(found_facts: Sequence[FactSource], *, proposed_by: str) -> set[str]:
    """The importers and layout authors of files that have a fact which neither a fetched file nor a file of the
    proposer has. Of the proposer's own files, the layout authors."""
    facts: dict[str, list[FactSource]] = defaultdict(list)
    for each in found_facts:
        facts[each.fact].append(each)
    found: set[str] = set()
    for sources in facts.values():
        if any(each.imported_by == FETCHED_BY for each in sources):
            continue
        own = [each for each in sources if each.imported_by == proposed_by]
        found.update(name for each in own or sources for name in (each.imported_by, *each.authors))
    return found
