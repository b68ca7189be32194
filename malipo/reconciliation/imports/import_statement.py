"""Imports a statement: all of it in one commit, or nothing.

The file is read line by line, and each goes to PostgreSQL at once, so memory stays flat. A file that does not add up is
refused; an operator may accept it, and then it cannot show that a payment is missing. One that is doubted is refused
before anything of it is booked.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from malipo.network_statements.chain import Chain
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

_MOST_BAD_LINES = 20  # are told; more would not help anybody
_LINES_A_REPORT = 1000  # Then whoever waits sees how far it is.


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
    """Opening, lines and closing do not fit, or it does not follow the file before it."""


class BadLines(Refusal):
    """Lines that cannot be read."""


class UnknownStatuses(Refusal):
    """The layout does not say what words of the status column mean."""

    def __init__(self, name: str, profile: str, words: Sequence[UnknownWord]) -> None:
        super().__init__(
            code=ImportRefusal.UNKNOWN_STATUSES,
            name=name,
            profile=profile,
            problems=[each.problem for each in words],
        )
        self.words = words


class SaysItself(Refusal):
    """The file says from when to when it is, and the operator says something else."""


class ImportResult(msgspec.Struct, frozen=True):
    file: StatementFile
    is_repeat: bool = False  # the same file was imported before: nothing was done
    uncovered: Problem | None = None  # the time before it that no statement covers
    passed_over: Mapping[str, int] = {}  # rows that moved nothing, by their status
    elsewhere: StatementFile | None = None  # an operator's file of another account that has most of its lines


async def import_statement(
    tx: Tx,
    path: Path,
    *,
    channel: Channel,
    account: str,
    profile: StatementProfile,
    accepts_problems: bool,
    is_new_account: bool = False,  # somebody knows that nothing of it is known here, and that it is right all the same
    actor: Actor,
    now: datetime,
    period: Period | None = None,  # as the operator says, of a file that does not
    progress: Callable[[int], None] = lambda lines: None,  # is told how many lines were read so far
) -> ImportResult:
    carrier_by = await store.share_profile(tx, profile.name)
    sha256 = _sha256(path)
    await store.lock_content(tx, sha256)
    account = _known_name(account, await store.find_accounts(tx, channel))
    await store.lock_channel(tx, channel)
    # No day is closed meanwhile: lines are in the close of their day, or come after it.
    await first_open_day(tx)
    file = _unread_file(path.name, sha256, channel, account, profile, imported_by=actor.name, now=now)
    same = await _find_same(tx, file)
    if same is not None and await lines_store.count(tx, same.id) >= same.line_count:
        return ImportResult(same, is_repeat=True)
    if same is None:
        await store.insert_file(tx, file)
    reading, file = await _store_lines(tx, same or file, lambda: _FileReading(path, profile, period, progress))
    file = msgspec.structs.replace(file, authors=_authors(file, reading, carrier_by=carrier_by, actor=actor))
    before = await store.find_before(tx, file)
    if gaps := gaps_beside(file, before, await store.find_after(tx, file)):
        file = msgspec.structs.replace(file, problems=(*file.problems, *gaps))
    if file.problems and not accepts_problems:
        raise DoesNotAddUp(code=ImportRefusal.DOES_NOT_ADD_UP, name=path.name, problems=file.problems)
    elsewhere = None if same is not None else await _refuse_doubted(tx, file, profile, is_new_account=is_new_account)
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


async def _refuse_doubted(
    tx: Tx, file: StatementFile, profile: StatementProfile, *, is_new_account: bool
) -> StatementFile | None:
    """Refuse a file that contradicts others, or seems to be of another account. An operator's file whose lines the
    worker fetched as another account is returned instead: it is proposed to withdraw it."""
    elsewhere = await refuse_conflicting_file.refuse_content_of_another(tx, file)
    await refuse_conflicting_file.refuse_contradiction(tx, file)
    if not is_new_account:
        await refuse_conflicting_file.refuse_stranger(tx, file, profile)
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
    """Who said how the file was read, beside its importer. Nobody, of what the worker fetched: it is read by malipo's
    own layout."""
    if file.imported_by == store.FETCHED_BY:
        return ()
    statement = reading.statement
    found = authors_of(statement.profile, statement.statuses, carrier_by=carrier_by, imported_by=file.imported_by)
    if actor.name != file.imported_by:  # who imports again what was imported in part
        found = (LayoutAuthor(by=actor.name, said=LayoutChoice.COLUMNS), *found)
    return (*file.authors, *(each for each in found if each not in file.authors))


def with_period(heading: StatementHeading, period: Period | None) -> StatementHeading:
    """What an operator says of the time is for files that do not say it themselves."""
    if period is None:
        return heading
    begins, ends = period
    if (heading.begins or begins, heading.ends or ends) != (begins, ends):
        raise SaysItself(code=ImportRefusal.SAYS_ITSELF)
    return msgspec.structs.replace(heading, begins=begins, ends=ends, ends_on_a_day=False)


def _split(said: int | None, computed: int | None) -> tuple[int | None, int]:
    """A balance as the heading says it, else as the lines do: shillings, and the cents beside them."""
    cents = computed if said is None else said
    return (None, 0) if cents is None else money.split(cents)


def _known_name(account: str, known: Sequence[str]) -> str:
    """As the account is called already, or as its aggregator's connector is: "ClickPesa" and "clickpesa" are one, also
    at the first import."""
    account, carrier = account.strip(), carrier_named(account)
    same = (
        each for each in known if each.casefold() == account.casefold() or (carrier and carrier_named(each) == carrier)
    )
    return next(same, carrier or account)


async def find_same_elsewhere(connection: Conn, path: Path, channel: Channel, account: str) -> StatementFile | None:
    """The same bytes as the statement of another account: nobody need say how they are read here."""
    account = _known_name(account, await store.find_accounts(connection, channel))
    found = [each for each in await store.find_same(connection, _sha256(path)) if each.line_count]
    if any((each.channel, each.account) == (channel, account) for each in found):
        return None
    return found[0] if found else None


async def _find_same(tx: Tx, file: StatementFile) -> StatementFile | None:
    """The import of the same bytes. A file without lines says nothing of an account, so others may be equal to it.

    What the worker fetches is the network's own word, read by the network's own layout: an operator's import of the
    same bytes does not stand for it.
    """
    found = await store.find_same(tx, file.sha256)
    if file.imported_by == store.FETCHED_BY:
        found = [each for each in found if each.imported_by == store.FETCHED_BY]
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
    """A file that is read, once."""

    def __init__(
        self, path: Path, profile: StatementProfile, period: Period | None, progress: Callable[[int], None]
    ) -> None:
        self._name = path.name
        self.statement = read_statement(path, profile)
        self.heading = with_period(self.statement.heading, period)
        self.chain = Chain()
        self._progress = progress
        self._bad: list[BadLine] = []

    def lines(self) -> Iterator[StatementLine]:
        """The good ones, until there were too many bad ones."""
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
            told = [Problem(LineProblem.ROW, row=str(each.row), why=each.why) for each in self._bad[:_MOST_BAD_LINES]]
            more = [Problem(LineProblem.MORE)] if len(self._bad) > _MOST_BAD_LINES else []
            raise BadLines(code=ImportRefusal.BAD_LINES, problems=[*told, *more])
        if unknown := self.statement.statuses.unknown:
            raise UnknownStatuses(self._name, self.statement.profile.name, unknown)


async def _store_lines(
    tx: Tx, file: StatementFile, read: Callable[[], _FileReading]
) -> tuple[_FileReading, StatementFile]:
    """How the file was read, and the file with how many of its lines are new.

    Nearly always all of them are, and then they are stored as they are read. If one is not, the file is read again and
    its lines are compared with those that are known.
    """
    await lines_store.begin(tx)
    reading = read()
    if await lines_store.copy_new(tx, file, reading.lines()):
        reading.refuse_bad()
        described = _described(file, reading, new_count=reading.chain.lines)
        apart = await file_comparison.find_apart(tx, described, last_line=reading.chain.ends)
        if not await lines_store.has_known(tx, file, apart):
            return reading, described
    await lines_store.take_back(tx)
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
    # What was fetched cannot show that a payment is missing, so it does not matter where its times end.
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
