"""The beginning of a file that was sent: how it is read, and its first lines. To be run in a thread."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from malipo.dashboard.operator.reconciliation import column_mapping
from malipo.errors import Refusal
from malipo.network_statements.guess_profile import Guess, guess
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.mapped_profile import profile_of
from malipo.network_statements.profile import StatementProfile
from malipo.network_statements.read_statement import read_statement
from malipo.network_statements.statement_line import BadLine, StatementLine
from malipo.network_statements.status_words import UnknownWord
from malipo.networks.connector import Channel
from malipo.reconciliation.statements.choose_profile import best_profile, first_rows

SHOWN_LINES = 10
_MOST_READ = 20_000  # lines, to find words of the status column; the import looks at all


class StatementPreview(NamedTuple):
    profile: StatementProfile | None = None  # None: no layout fits, and what is mapped is not enough to read a line
    mapped: Guess | None = None  # of an unknown layout
    heading: StatementHeading = StatementHeading()
    lines: tuple[StatementLine, ...] = ()
    bad: tuple[BadLine, ...] = ()
    trouble: Refusal | None = None  # why nothing of it can be read
    unknown: tuple[UnknownWord, ...] = ()  # words of the status column that the layout does not know
    failed: Mapping[str, int] = {}  # rows that moved nothing, by their status

    @property
    def is_empty(self) -> bool:
        """Whether this layout finds nothing in the file: neither lines, nor status words that an operator could
        explain."""
        return not (self.lines or self.bad or self.unknown or self.failed)


def preview(
    path: Path, profiles: Mapping[str, StatementProfile], channel: Channel, name: str | None
) -> StatementPreview:
    """Preview a file by the named profile, or the one that knows its columns; else with its columns guessed."""
    try:
        named = profiles.get(name) if name is not None else None
        profile = named or best_profile(path, channel, profiles.values())
    except Refusal as refusal:
        return StatementPreview(trouble=refusal)
    return preview_mapped(path, channel, {}) if profile is None else _read(path, profile, None)


def preview_mapped(path: Path, channel: Channel, values: Mapping[str, str]) -> StatementPreview:
    """Preview the file with the columns that a person has chosen."""
    try:
        found = guess(first_rows(path))
    except Refusal as refusal:
        return StatementPreview(trouble=refusal)
    if found is None:
        return StatementPreview()
    mapped = column_mapping.corrected(found, values)
    if not column_mapping.is_enough(mapped):
        return StatementPreview(mapped=mapped)
    return _read(path, profile_of(mapped, channel, name=""), mapped)


def _read(path: Path, profile: StatementProfile, mapped: Guess | None) -> StatementPreview:
    try:
        statement = read_statement(path, profile)
        first = list(islice(statement.lines, SHOWN_LINES))
        for _ in islice(statement.lines, _MOST_READ):
            pass
    except Refusal as refusal:
        return StatementPreview(mapped=mapped, trouble=refusal)
    good = tuple(each for each in first if isinstance(each, StatementLine))
    bad = tuple(each for each in first if isinstance(each, BadLine))
    statuses = statement.statuses
    return StatementPreview(
        profile, mapped, statement.heading, good, bad, unknown=tuple(statuses.unknown), failed=dict(statuses.failed)
    )
