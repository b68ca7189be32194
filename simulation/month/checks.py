"""What must be true when the month is over: by the ledger check, by the program of the archive, by beancount and by
hledger."""

import csv
import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from malipo import clock
from malipo.books import store as books
from malipo.books.trial_balance import find_trial_balance
from malipo.dashboard.operator.books_words import archive_words
from malipo.db import Conn, Database
from malipo.encryption import Encryption
from malipo.invoices.issue_invoices import total_of
from malipo.ledger import check as ledger_check
from malipo.month_end import checklist
from malipo.month_end.archive import archive_pieces, file_name, find_key
from malipo.month_end.checklist import require_archivable
from malipo.month_end.month import Month, month_of
from malipo.payments.check import transactions as transactions_check
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.safeguarding import Cover, safeguarding_of
from malipo.reconciliation.close.store import closes
from malipo.reconciliation.close.verify import verify
from malipo.words.say import say
from simulation.month.run import DAYS, FIRST, SECRET_KEY, MonthRun

_BEANCOUNT = Path(__file__).parents[2] / ".venv" / "opponents" / "requirements-books"


async def check_month(month: MonthRun, folder: Path) -> dict[str, Any]:
    of = month_of(FIRST)
    findings: list[str] = []
    async with Database.opened(month.url, size=2) as database:
        async with database.snapshot() as connection:
            await ledger_check.prepare(connection)
            found = await ledger_check.check(connection) + await transactions_check.check(connection)
            findings += [f"ledger check: {each}" for each in found]
            verified = await verify(connection, Encryption(SECRET_KEY), with_ledger=True)
            findings += [f"close verify: {say(each)}" for each in verified.findings]
            end = await checklist.find(connection, of, now=clock.now())
            findings += [f"missing: {say(each)}" for each in end.missing]
            counts = await _counts(connection)
            balance = await find_trial_balance(connection, FIRST + timedelta(days=DAYS - 1))
        archive = await _archive(database, of, folder)
    ledger = {each.path: amount for each, amount in balance.balances.items() if amount}
    read_by, found_by_others = _run_checks(archive, folder, ledger)
    findings += found_by_others
    if not month.invoices:
        findings.append("no invoice was issued")
    safe = end.safeguarding
    assert safe is not None
    if safe.cover is not Cover.COVERED:
        findings.append(f"safeguarding: {safe.cover}, unexplained {safe.unexplained}, own {safe.own}")
    return {
        "findings": findings,
        "booksReadBy": read_by,
        "payments": counts,
        "fates": dict(month.shops.fates),
        "refused": dict(month.shops.refused),
        "lostByTheRestore": month.lost,
        "writtenAfterTheClose": month.late,
        "settlementsAskedFor": month.settlements,
        "releasedFromSuspense": month.releases,
        "invoices": {"count": len(month.invoices), "total": total_of(month.invoices)},
        "operators": dict(month.finance.acts),
        "refusedOperators": dict(month.finance.refusals),
        "daysClosedWithADifference": [str(each) for each in month.finance.accepted],
        "open": [say(each) for each in end.open],
        "safeguarding": {
            "merchantsOwn": safe.merchants,
            "isThere": safe.there,
            "difference": safe.difference,
            "own": safe.own,
            "explained": safe.explained,
            "unexplained": safe.unexplained,
        },
        "archive": {"file": str(archive), "bytes": archive.stat().st_size},
        "closedDays": verified.days,
        "lastHash": verified.hash,
    }


async def check_next_month(month: MonthRun, folder: Path) -> list[str]:
    """When the next month is over too: what it brought has changed nothing of the one before."""
    of = month_of(FIRST)
    async with Database.opened(month.url, size=2) as database:
        async with database.snapshot() as connection:
            await ledger_check.prepare(connection)
            found = await ledger_check.check(connection) + await transactions_check.check(connection)
            findings = [f"ledger check of the next month: {each}" for each in found]
            verified = await verify(connection, Encryption(SECRET_KEY), with_ledger=True)
            findings += [f"close verify: {say(each)}" for each in verified.findings]
            findings += _safeguarding_findings(
                await closes.find_after(connection, None, limit=100), month.finance.accepted
            )
        again = await _archive(database, of, _made(folder / "again"))
        if again.read_bytes() != (folder / file_name(of)).read_bytes():
            findings.append("the archive of the month is another one after the next month")
        next_ = await _archive(database, of.next, folder)
    done = _run(sys.executable, "-I", str(folder / "archive" / "check_archive.py"), str(next_))
    if done.returncode:
        findings.append(f"check_archive.py of the next month: {done.stdout}{done.stderr}")
    return findings


def _safeguarding_findings(closed: Sequence[ClosedDay], accepted: Sequence[date]) -> list[str]:
    """Of every close: merchants' money was there, and all of the rest is the house's own or explained, but where two
    operators have accepted a difference."""
    return [
        f"safeguarding of {found.day}: {found.cover}, unexplained {found.unexplained}, own {found.own}"
        for found in (safeguarding_of(each.close) for each in closed)
        if found.cover is Cover.SHORT or (found.cover is Cover.UNEXPLAINED and found.day not in accepted)
    ]


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


async def _counts(connection: Conn) -> dict[str, int]:
    rows = await connection.fetch("SELECT status, count(*) FROM transactions GROUP BY 1 ORDER BY 1")
    counts = {row[0]: row[1] for row in rows}
    counts["moves"] = await connection.fetchval("SELECT count(*) FROM moves")
    counts["adopted"] = await connection.fetchval("SELECT count(*) FROM adopted_payments")
    counts["corrections"] = await connection.fetchval("SELECT count(*) FROM corrections")
    counts["late moves"] = await connection.fetchval("SELECT count(*) FROM late_moves")
    counts |= {
        f"settlements {row[0]}": row[1]
        for row in await connection.fetch("SELECT status, count(*) FROM settlements GROUP BY 1 ORDER BY 1")
    }
    return counts


async def _archive(database: Database, of: Month, folder: Path) -> Path:
    file = folder / file_name(of)
    async with database.snapshot() as connection:
        period = await require_archivable(connection, of)
        key = await find_key(connection, period, Encryption(SECRET_KEY))
        words = archive_words(period, await books.find_names(connection), None)
        with file.open("wb") as written:
            async for piece in archive_pieces(connection, of, words, period, key):
                written.write(piece)
    return file


def _run_checks(archive: Path, folder: Path, ledger: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Which programs have read the books, and what they have found."""
    findings, read_by = list[str](), ["check_archive.py"]
    whole = folder / "archive"
    shutil.rmtree(whole, ignore_errors=True)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(whole)
    done = _run(sys.executable, "-I", str(whole / "check_archive.py"), str(archive))
    if done.returncode:
        findings.append(f"check_archive.py: {done.stdout}{done.stderr}")
    if _BEANCOUNT.exists():
        read_by.append("beancount")
        findings += _difference("beancount", _beancount(whole / "journal/journal.beancount"), ledger)
    if (program := shutil.which("hledger")) is not None:
        read_by.append("hledger")
        findings += _hledger(program, whole / "journal/journal.hledger", ledger)
    return read_by, findings


def _hledger(program: str, file: Path, ledger: Mapping[str, int]) -> list[str]:
    done = _run(program, "-f", str(file), "check", "--strict")
    if done.returncode:
        return [f"hledger check: {done.stderr[:2000]}"]
    listed = _run(program, "-f", str(file), "balance", "--flat", "--no-total", "-O", "csv", "-c", "TZS 1000.")
    rows = csv.DictReader(io.StringIO(listed.stdout))
    found = {row["account"]: int(row["balance"].removeprefix("TZS")) for row in rows}
    return _difference("hledger", found, ledger)


def _beancount(file: Path) -> dict[str, int]:
    """Checks the file, and sums each account."""
    code = f"import sys; sys.path.insert(0, {str(_BEANCOUNT)!r}); from {{}} import main; main()"
    done = _run(sys.executable, "-c", code.format("beancount.scripts.check"), str(file))
    if done.returncode:
        return {f"bean-check: {(done.stdout + done.stderr)[:2000]}": 1}
    query = "SELECT account, sum(number) AS total GROUP BY account"
    done = _run(sys.executable, "-c", code.format("beanquery.shell"), "-f", "csv", str(file), query)
    rows = csv.DictReader(io.StringIO(done.stdout))
    sums = {row["account"].strip(): int(float(row["total"].strip() or 0)) for row in rows}
    return {account: amount for account, amount in sums.items() if amount}


def _difference(program: str, found: Mapping[str, int], ledger: Mapping[str, int]) -> list[str]:
    return [
        f"{program} finds {found.get(path, 0):,} in {path}, and the ledger has {ledger.get(path, 0):,}"
        for path in sorted(found.keys() | ledger.keys())
        if found.get(path, 0) != ledger.get(path, 0)
    ]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
