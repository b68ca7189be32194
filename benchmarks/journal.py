"""A million moves as a journal and as an archive: `python -m benchmarks.journal`.

The moves are written by SQL into a PostgreSQL of its own, all on one day, which is closed as operators do it. Then each
command runs in a process of its own, and its seconds and its largest memory are measured. `--check` reads the archive
with its own program, in another process.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

from malipo.audit_log.actor import operator_at
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.encryption import Encryption
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants import onboard
from malipo.reconciliation.close import close_day

_DAY = date(2026, 10, 31)
_MERCHANTS = 50
_ASHA = operator_at("asha", "benchmark")
_AFTER = datetime(2026, 11, 2, 6, tzinfo=UTC)
_BEFORE = datetime(2026, 9, 29, 6, tzinfo=UTC)
_FIFTH = 5  # moves of a collection and a payout together
_SECRET = "the-key-of-a-benchmark-and-of-nothing-else"  # noqa: S105

# A collection has two moves, a payout three. Each is of a merchant, of a channel and of a moment of the day.
_PAYMENTS = """
    CREATE UNLOGGED TABLE made AS
    SELECT n, 'txn_b' || lpad(n::text, 22, '0') AS id, m.id AS merchant_id, n % 2 = 0 AS is_collection,
           (ARRAY['MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA'])[1 + n / 3 % 4] AS channel,
           CASE WHEN n % 2 = 0 THEN 20000 ELSE 10000 END + n % 1000 AS amount,
           timestamptz '2026-10-31 00:10+03' + n * interval '84000 seconds' / $1 AS at
    FROM generate_series(0, $1 - 1) AS n
    JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM merchants) m ON m.place = n / 2 % $2
"""
_TRANSACTIONS = """
    INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee, phone, name,
        description, metadata, search_text, provider_reference, created_at, processing_at, ended_at)
    SELECT merchant_id, id, 'ORDER-' || n, id, CASE WHEN is_collection THEN 'COLLECTION' ELSE 'DISBURSEMENT' END,
           channel, 'COMPLETED', amount, 100, '+255754' || lpad((n % 1000000)::text, 6, '0'), '', '', '{}', '',
           'R' || n, at, at, at
    FROM made
"""
_MOVES = """
    INSERT INTO moves (merchant_id, cause_id, step, ordinal, move_number, source, target, channel, amount,
                       statement_line, balance_after, created_at)
    SELECT merchant_id, id, step, 1, move_number, source, target, channel, amount,
           CASE WHEN 'wallet' IN (source, target)
                THEN 1 + row_number() OVER (PARTITION BY merchant_id, 'wallet' IN (source, target) ORDER BY n) END,
           CASE WHEN 'wallet' IN (source, target) THEN 0 END, at
    FROM (
        SELECT n, merchant_id, id, 'end' AS step, 1 AS move_number, 'float' AS source, 'wallet' AS target, channel,
               amount - 100 AS amount, at FROM made WHERE is_collection
        UNION ALL
        SELECT n, merchant_id, id, 'end', 2, 'float', 'fees', channel, 100, at FROM made WHERE is_collection
        UNION ALL
        SELECT n, merchant_id, id, 'open', 1, 'wallet', 'in_flight', NULL, amount + 100, at
        FROM made WHERE NOT is_collection
        UNION ALL
        SELECT n, merchant_id, id, 'end', 1, 'in_flight', 'float', channel, amount, at FROM made WHERE NOT is_collection
        UNION ALL
        SELECT n, merchant_id, id, 'end', 2, 'in_flight', 'fees', NULL, 100, at FROM made WHERE NOT is_collection
    ) AS moved ORDER BY n
"""
_WALLETS = """
    UPDATE wallets SET available = moved.available, statement_lines = moved.lines
    FROM (SELECT merchant_id, sum(CASE 'wallet' WHEN target THEN amount ELSE -amount END) AS available,
                 count(*) AS lines
          FROM moves WHERE 'wallet' IN (source, target) GROUP BY 1) AS moved
    WHERE moved.merchant_id = wallets.merchant_id
"""


async def fill(url: str, moves: int) -> None:
    async with Database.opened(url, size=2) as database:
        await migrate(database)
        async with database.begin() as tx:
            for number in range(_MERCHANTS):
                merchant_id = await onboard.create_merchant(tx, f"Duka {number}", actor=_ASHA, now=_BEFORE)
                reference = f"FT{number}"
                await book(tx, BookingKind.TOP_UP, merchant_id, 50_000_000, reference=reference, now=_BEFORE)
            await tx.execute("SET LOCAL statement_timeout = 0")
            await tx.execute(_PAYMENTS, moves // _FIFTH * 2, _MERCHANTS)
            await tx.execute(_TRANSACTIONS)
            await tx.execute(_MOVES)
            await tx.execute(_WALLETS)
            await tx.execute("DROP TABLE made")
        async with database.read() as connection:
            await connection.execute("VACUUM ANALYZE")


async def close(url: str) -> None:
    encryption = Encryption(_SECRET)
    channels = ["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"]
    async with Database.opened(url, size=1) as database, database.begin() as tx:
        await close_day.close_day(
            tx,
            _DAY,
            encryption=encryption,
            actor=_ASHA,
            now=_AFTER,
            without=channels,
            reason="a benchmark has no statements",
        )


def measure(name: str, command: list[str], environment: dict[str, str], file: Path) -> None:
    """In a process of its own: seconds, and the largest memory that it had."""
    began = time.perf_counter()
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        os.write(write, f"{done.returncode} {used}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    code, kibibytes = os.read(read, 100).decode().split()
    os.close(read)
    os.close(write)
    seconds = time.perf_counter() - began
    size = file.stat().st_size / 2**20 if file.exists() else 0
    memory = int(kibibytes) / 1024
    print(f"{name:<10} {seconds:7.1f} s, {memory:4.0f} MiB at most, a file of {size:.1f} MiB, exit {code}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="A day of many moves as a journal and as an archive.")
    parser.add_argument("--moves", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true", help="also check the archive with its own program")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="malipo-journal-") as folder, server(Path(folder, "postgres")) as url:
        began = time.perf_counter()
        asyncio.run(fill(url, given.moves))
        print(f"{given.moves:,} moves of {_MERCHANTS} merchants: {time.perf_counter() - began:.0f} s", flush=True)
        began = time.perf_counter()
        asyncio.run(close(url))
        print(f"the day closed: {time.perf_counter() - began:.0f} s", flush=True)
        environment = os.environ | {"MALIPO_DATABASE_URL": url, "MALIPO_SECRET_KEY": _SECRET}
        malipo = [sys.executable, "-m", "malipo", "books"]
        period = ["--from", str(_DAY), "--to", str(_DAY)]
        for format_ in ("csv", "beancount", "hledger"):
            file = Path(folder, f"journal.{format_}")
            command = [*malipo, "journal", *period, "--format", format_, "--output", str(file)]
            measure(format_, command, environment, file)
            file.unlink(missing_ok=True)
        archive = Path(folder, "malipo-2026-10.zip")
        measure("archive", [*malipo, "month", "2026-10", "--archive", str(archive)], environment, archive)
        if given.check:
            program = Path(folder, "check_archive.py")
            with zipfile.ZipFile(archive) as opened:
                program.write_bytes(opened.read("check_archive.py"))
            measure("check", [sys.executable, "-I", str(program), str(archive)], dict(os.environ), archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
