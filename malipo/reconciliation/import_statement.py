"""Imports a statement: all of it in one commit, or nothing.

The file is read once, line by line into a table of the transaction, so memory stays flat. A file that does not add up
is refused; an operator may accept it, and then it proves nothing by what it does not have.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

import msgspec

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Refusal
from malipo.floats.note_readings import note_closing
from malipo.ledger.store.closed_days import first_open_day
from malipo.network_statements.chain import Chain
from malipo.network_statements.profile import Profile, built_in
from malipo.network_statements.read_statement import Statement, read_statement
from malipo.network_statements.statement_line import BadLine, Line
from malipo.networks.connector import Channel
from malipo.reconciliation.statement_file import StatementFile, gap_before, uncovered_before
from malipo.reconciliation.store import statements as store

_MOST_BAD_LINES = 20  # are told; more would not help anybody
_LINES_AT_A_TIME = 1000  # Then other work of the process has its turn, and whoever waits sees how far it is.


class DoesNotAddUp(Refusal):
    """Opening, lines and closing do not fit, or it does not follow the file before it."""


class BadLines(Refusal):
    """Lines that cannot be read."""


class Imported(msgspec.Struct, frozen=True):
    file: StatementFile
    is_repeat: bool = False  # the same file was imported before: nothing was done
    uncovered: str | None = None  # the time before it that no statement covers


async def import_statement(
    tx: Tx,
    path: Path,
    *,
    channel: Channel,
    account: str,
    profile: Profile,
    accepts_problems: bool,
    actor: Actor,
    now: datetime,
    progress: Callable[[int], None] = lambda lines: None,  # is told how many lines were read so far
) -> Imported:
    sha256 = _sha256(path)
    await store.lock_account(tx, channel, account)
    # No day is closed meanwhile: lines are in the close of their day, or come after it.
    await first_open_day(tx)
    if same := await store.find_same(tx, channel, account, sha256):
        return Imported(same, is_repeat=True)
    statement, chain = read_statement(path, profile), Chain()
    bad: list[BadLine] = []
    await store.stage(tx, _good_lines(statement, chain, bad, progress))
    _refuse_bad(bad)
    file = StatementFile(
        id=ids.mint("stf_", now),
        channel=channel,
        account=account,
        sha256=sha256,
        name=path.name,
        profile=profile.name,
        begins_at=statement.heading.begins or chain.begins,
        ends_at=statement.heading.ends or chain.ends,
        opening=chain.opening if statement.heading.opening is None else statement.heading.opening,
        closing=chain.closing if statement.heading.closing is None else statement.heading.closing,
        line_count=chain.lines,
        new_count=0,
        problems=tuple(chain.problems(statement.heading)),
        imported_by=actor.name,
        imported_at=now,
    )
    before = await store.find_before(tx, file)
    if gap := gap_before(file, before):
        file = msgspec.structs.replace(file, problems=(*file.problems, gap))
    if file.problems and not accepts_problems:
        raise DoesNotAddUp(f"{path.name} does not add up.", details={"file": list(file.problems)})
    await store.insert_file(tx, file)
    new_count = await store.insert_staged(
        tx,
        file,
        is_fetched=profile.is_fetched,
        fetched_profiles=[name for name, each in built_in().items() if each.is_fetched],
    )
    file = msgspec.structs.replace(file, new_count=new_count)
    await store.set_new_count(tx, file.id, file.new_count)
    if not file.problems:
        await note_closing(tx, channel, account, file.closing, ends_at=file.ends_at, actor=actor, now=now)
    await audit_log.append(
        tx,
        actor,
        "statement.imported",
        now=now,
        file=file.id,
        name=file.name,
        channel=channel,
        account=account,
        lines=file.line_count,
        new=file.new_count,
        problems=file.problems,
    )
    return Imported(file, uncovered=uncovered_before(file, before))


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


async def _good_lines(
    statement: Statement, chain: Chain, bad: list[BadLine], progress: Callable[[int], None]
) -> AsyncIterator[Line]:
    for line in statement.lines:
        if isinstance(line, BadLine):
            bad.append(line)
            if len(bad) > _MOST_BAD_LINES:
                return
            continue
        chain.add(line)
        if chain.lines % _LINES_AT_A_TIME == 0:
            progress(chain.lines)
            await asyncio.sleep(0)
        yield line


def _refuse_bad(bad: list[BadLine]) -> None:
    if bad:
        told = [f"Row {each.row}: {each.why}" for each in bad[:_MOST_BAD_LINES]]
        more = ["There are more."] if len(bad) > _MOST_BAD_LINES else []
        raise BadLines("Lines of the file cannot be read.", details={"file": [*told, *more]})
