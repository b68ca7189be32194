"""Imports a statement: all of it in one commit, or nothing.

The file is read line by line, and each line goes to PostgreSQL at once, so memory stays flat. A file that does not add
up is refused; an operator may accept it, and then it cannot show that a payment is missing. A file that conflicts with
known files is refused before anything of it is booked (`refuse_conflicting_file.py`).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from malipo import ids, money
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Problem, Refusal
from malipo.floats.note_readings import note_closing
from malipo.ledger.store.closed_days import first_open_day
from malipo.network_statements.adds_up import Chain
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.profile import StatementProfile
from malipo.network_statements.read_statement import read_statement
from malipo.network_statements.statement_line import BadLine, StatementLine
from malipo.network_statements.status_words import UnknownWord
from malipo.networks.connector import Channel
from malipo.reconciliation.imports import refuse_conflicting_file, withdraw_statement
from malipo.reconciliation.imports.store import file_comparison
from malipo.reconciliation.matching.carriers import carrier_named
from malipo.reconciliation.statements.statement_file import (
    LayoutAuthor,
    LayoutChoice,
    StatementFile,
    authors_of,
    gaps_beside,
    uncovered_before,
)
from malipo.reconciliation.statements.store import statement_lines as lines_store
from malipo.reconciliation.statements.store import statements as store
from malipo.reconciliation.statements.stored_problems import stored_text
from malipo.table_files import store as kept_contents

_MOST_BAD_LINES = 20  # that are reported; more would not help
_LINES_A_REPORT = 1000  # between two reports of progress


Period = tuple[datetime, datetime]


class ImportRefusal(Code):
    DOES_NOT_ADD_UP = "statement_does_not_add_up"
    BAD_LINES = "statement_bad_lines"
    UNKNOWN_STATUSES = "statement_unknown_statuses"
    SAYS_ITSELF = "statement_says_itself"


class LineProblem(Code):
    """Lines of a file that cannot be read."""

    ROW = "line_unreadable"
    MORE = "lines_more_unreadable"


class DoesNotAddUp(Refusal):
    """Opening, lines and closing do not add up, or the file does not follow the file before it."""


class BadLines(Refusal):
    """Lines that cannot be read."""


class UnknownStatuses(Refusal):
    """The layout does not define some words of the status column."""

    def __init__(self, name: str, profile: str, words: Sequence[UnknownWord]) -> None:
        super().__init__(
            code=ImportRefusal.UNKNOWN_STATUSES,
            name=name,
            profile=profile,
            problems=[each.problem for each in words],
        )
        self.words = words


class SaysItself(Refusal):
    """The operator gave another period than the file itself states."""


class ImportResult(msgspec.Struct, frozen=True):
    file: StatementFile
    is_repeat: bool = False  # the same file was imported before, so nothing was done
    uncovered: Problem | None = None  # the time before the file that no statement covers
    passed_over: Mapping[str, int] = {}  # the number of rows that moved nothing, by status
    elsewhere: StatementFile | None = None  # an operator's file of another account that has most of its lines


def _no_report(lines: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class StatementImport:
    """A file to import, with what the importer stated about it."""

    path: Path
    _: KW_ONLY
    channel: Channel
    account: str
    profile: StatementProfile
    accepts_problems: bool = False
    is_new_account: bool = False  # the operator confirms that the account is new, so no line is known here
    period: Period | None = None  # by the operator, for a file that states none
    progress: Callable[[int], None] = _no_report  # called with the number of lines read so far


async def import_statement(tx: Tx, request: StatementImport, *, actor: Actor, now: datetime) -> ImportResult:
    path, channel, profile = request.path, request.channel, request.profile
    carrier_by = await store.share_profile(tx, profile.name)
    sha256 = _sha256(path)
    await store.lock_content(tx, sha256)
    await store.lock_channel(tx, channel)
    # Under the lock: who imports a first statement at once may name the account "Main" or "main".
    account = _known_name(request.account, await store.find_accounts(tx, channel))
    # Keeps days from being closed meanwhile, so that a line is either in the close of its day or comes after it.
    await first_open_day(tx)
    file = _unread_file(path.name, sha256, channel, account, profile, imported_by=actor.name, now=now)
    same = await _find_same(tx, file)
    if same is not None and await lines_store.count(tx, same.id) >= same.line_count:
        return ImportResult(same, is_repeat=True)
    if same is None:
        await store.insert_file(tx, file)
    await kept_contents.keep(tx, sha256, path)
    reading, file = await _store_lines(tx, same or file, lambda: _FileReading(request))
    file = msgspec.structs.replace(file, authors=_authors(file, reading, carrier_by=carrier_by, actor=actor))
    before = await store.find_before(tx, file)
    if gaps := gaps_beside(file, before, await store.find_after(tx, file)):
        file = msgspec.structs.replace(file, problems=(*file.problems, *gaps))
    if file.problems and not request.accepts_problems:
        raise DoesNotAddUp(code=ImportRefusal.DOES_NOT_ADD_UP, name=path.name, problems=file.problems)
    elsewhere = None if same is not None else await _refuse_doubted(tx, file, request)
    await store.update_file(tx, file)
    if not file.problems and same is None:
        await note_closing(tx, channel, account, file.closing, ends_at=file.ends_at, actor=actor, now=now)
    passed_over = dict(reading.statement.statuses.failed)
    await _append_to_audit_log(tx, file, passed_over, elsewhere, actor=actor, now=now)
    if elsewhere is not None:
        reason = f"The worker has fetched its lines as {file.where}, in {file.name} ({file.id}). They count twice."
        await withdraw_statement.propose_by_system(tx, elsewhere, reason=reason, now=now)
    uncovered = uncovered_before(file, before)
    return ImportResult(file, uncovered=uncovered, passed_over=passed_over, elsewhere=elsewhere)


def _unread_file(
    name: str,
    sha256: bytes,
    channel: Channel,
    account: str,
    profile: StatementProfile,
    *,
    imported_by: str,
    now: datetime,
) -> StatementFile:
    return StatementFile(
        id=ids.mint("stf_", now),
        channel=channel,
        account=account,
        sha256=sha256,
        name=name,
        profile=profile.name,
        begins_at=None,
        ends_at=None,
        opening=None,
        closing=None,
        line_count=0,
        new_count=0,
        problems=(),
        imported_by=imported_by,
        imported_at=now,
    )


async def _refuse_doubted(tx: Tx, file: StatementFile, request: StatementImport) -> StatementFile | None:
    """Refuse a file that contradicts others, or seems to be another account's. If the worker fetched the lines of an
    operator's file as another account's, that file is returned instead: malipo proposes to withdraw it."""
    elsewhere = await refuse_conflicting_file.refuse_content_of_another(tx, file)
    await refuse_conflicting_file.refuse_contradiction(tx, file)
    if not request.is_new_account:
        await refuse_conflicting_file.refuse_stranger(tx, file, request.profile)
    return elsewhere


async def _append_to_audit_log(
    tx: Tx,
    file: StatementFile,
    passed_over: Mapping[str, int],
    elsewhere: StatementFile | None,
    *,
    actor: Actor,
    now: datetime,
) -> None:
    await audit_log.append(
        tx,
        actor,
        "statement.imported",
        now=now,
        file=file.id,
        name=file.name,
        channel=file.channel,
        account=file.account,
        lines=file.line_count,
        new=file.new_count,
        problems=[stored_text(each) for each in file.problems],
        passed_over=passed_over,
        authors=sorted({each.by for each in file.authors}),
        **({} if elsewhere is None else {"elsewhere": elsewhere.id}),
    )


def _authors(
    file: StatementFile, reading: "_FileReading", *, carrier_by: str, actor: Actor
) -> tuple[LayoutAuthor, ...]:
    """The authors of the layout that read the file, beside its importer. A fetched file has none: malipo's own layout
    reads it."""
    if file.is_fetched:
        return ()
    statement = reading.statement
    found = authors_of(statement.profile, statement.statuses, carrier_by=carrier_by, imported_by=file.imported_by)
    if actor.name != file.imported_by:  # who completes another operator's import
        found = (LayoutAuthor(by=actor.name, said=LayoutChoice.COLUMNS), *found)
    return (*file.authors, *(each for each in found if each not in file.authors))


def with_period(heading: StatementHeading, period: Period | None) -> StatementHeading:
    """The heading with the operator's period, for a file that states none."""
    if period is None:
        return heading
    begins, ends = period
    if (heading.begins or begins, heading.ends or ends) != (begins, ends):
        raise SaysItself(code=ImportRefusal.SAYS_ITSELF)
    return msgspec.structs.replace(heading, begins=begins, ends=ends, ends_on_a_day=False)


def _split(stated: int | None, computed: int | None) -> tuple[int | None, int]:
    """A balance from the heading, else from the lines: shillings, and the cents beside them."""
    cents = computed if stated is None else stated
    return (None, 0) if cents is None else money.split(cents)


def _known_name(account: str, known: Sequence[str]) -> str:
    """The name by which the account is known, or its aggregator's connector: "ClickPesa" and "clickpesa" are one
    account, also at the first import."""
    account, carrier = account.strip(), carrier_named(account)
    same = (
        each for each in known if each.casefold() == account.casefold() or (carrier and carrier_named(each) == carrier)
    )
    return next(same, carrier or account)


async def find_same_elsewhere(connection: Conn, path: Path, channel: Channel, account: str) -> StatementFile | None:
    """A file with the same bytes that was imported as another account's statement, to refuse the import early."""
    account = _known_name(account, await store.find_accounts(connection, channel))
    found = [each for each in await store.find_same(connection, _sha256(path)) if each.line_count]
    if any((each.channel, each.account) == (channel, account) for each in found):
        return None
    return found[0] if found else None


async def _find_same(tx: Tx, file: StatementFile) -> StatementFile | None:
    """The import of the same bytes. A file without lines may be equal to another account's, so it is ignored.

    A fetched file is the network's own statement, read by the network's own layout: an operator's import of the same
    bytes does not replace it.
    """
    found = await store.find_same(tx, file.sha256)
    if file.is_fetched:
        found = [each for each in found if each.is_fetched]
    for each in found:
        if (each.channel, each.account) == (file.channel, file.account):
            return each
    if others := [each for each in found if each.line_count]:
        refuse_conflicting_file.refuse_same_elsewhere(others[0])
    return None


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


class _FileReading:
    """The reading of a file, once."""

    def __init__(self, request: StatementImport) -> None:
        self._name = request.path.name
        self.statement = read_statement(request.path, request.profile)
        self.heading = with_period(self.statement.heading, request.period)
        self.chain = Chain()
        self._progress = request.progress
        self._bad: list[BadLine] = []

    def lines(self) -> Iterator[StatementLine]:
        """The readable lines, until there are too many unreadable ones."""
        for line in self.statement.lines:
            if isinstance(line, BadLine):
                self._bad.append(line)
                if len(self._bad) > _MOST_BAD_LINES:
                    return
                continue
            self.chain.add(line)
            if self.chain.lines % _LINES_A_REPORT == 0:
                self._progress(self.chain.lines)
            yield line

    def refuse_bad(self) -> None:
        if self._bad:
            rows = [Problem(LineProblem.ROW, row=str(each.row), why=each.why) for each in self._bad[:_MOST_BAD_LINES]]
            more = [Problem(LineProblem.MORE)] if len(self._bad) > _MOST_BAD_LINES else []
            raise BadLines(code=ImportRefusal.BAD_LINES, problems=[*rows, *more])
        if unknown := self.statement.statuses.unknown:
            raise UnknownStatuses(self._name, self.statement.profile.name, unknown)


async def _store_lines(
    tx: Tx, file: StatementFile, read: Callable[[], _FileReading]
) -> tuple[_FileReading, StatementFile]:
    """Store the lines. Returns how the file was read, and the file with the number of its new lines.

    Nearly always all lines are new, and are stored as they are read. If one is known, the file is read again, and its
    lines are compared with the known ones.
    """
    await lines_store.begin(tx)
    reading = read()
    if await lines_store.copy_new(tx, file, reading.lines()):
        reading.refuse_bad()
        described = _described(file, reading, new_count=reading.chain.lines)
        apart = await file_comparison.find_apart(tx, described, last_line=reading.chain.ends)
        if not await lines_store.has_known(tx, file, apart):
            return reading, described
    await lines_store.roll_back(tx)
    reading = read()
    await lines_store.stage(tx, reading.lines())
    reading.refuse_bad()
    described = _described(file, reading, new_count=0)
    apart = await file_comparison.find_apart(tx, described, last_line=reading.chain.ends)
    new_count = await lines_store.insert_staged(tx, file, apart)
    return reading, msgspec.structs.replace(described, new_count=new_count)


def _described(file: StatementFile, reading: _FileReading, *, new_count: int) -> StatementFile:
    heading, chain = reading.heading, reading.chain
    problems = [*chain.problems(heading)]
    # A fetched file cannot show that a payment is missing, so lines outside of its period do not matter.
    if not reading.statement.profile.is_fetched and (outside := chain.outside_of(heading)):
        problems.append(outside)
    opening, opening_cents = _split(heading.opening, chain.opening)
    closing, closing_cents = _split(heading.closing, chain.closing)
    return msgspec.structs.replace(
        file,
        begins_at=heading.begins or chain.begins,
        ends_at=heading.ends_at(chain.ends),
        opening=opening,
        closing=closing,
        opening_cents=opening_cents,
        closing_cents=closing_cents,
        line_count=chain.lines,
        new_count=new_count,
        problems=tuple(problems),
    )
