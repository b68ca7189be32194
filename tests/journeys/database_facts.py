"""Reads facts from the database with SQL of its own, without malipo's stores."""

from collections import Counter

from malipo.db import Conn, Database
from malipo.ledger import check as ledger_check
from malipo.ledger.check import LedgerFinding
from malipo.payments.check import check_in_pieces as pieces
from malipo.payments.check import transactions as transactions_check

# Written by hand from the specification, and not taken from `status_effects.py`.
_TOLD = {
    ("COLLECTION", "PENDING"): ["payment.pending"],
    ("COLLECTION", "PROCESSING"): ["payment.pending"],
    ("COLLECTION", "COMPLETED"): ["payment.pending", "payment.completed"],
    ("COLLECTION", "FAILED"): ["payment.pending", "payment.failed"],
    ("COLLECTION", "CANCELLED"): ["payment.pending", "payment.cancelled"],
    ("DISBURSEMENT", "PENDING"): [],
    ("DISBURSEMENT", "PROCESSING"): [],
    ("DISBURSEMENT", "COMPLETED"): ["payout.completed"],
    ("DISBURSEMENT", "FAILED"): ["payout.failed"],
    ("DISBURSEMENT", "CANCELLED"): ["payout.cancelled"],
}


async def findings(database: Database) -> list[LedgerFinding]:
    async with database.snapshot() as connection:
        at_once = [*await ledger_check.check(connection), *await transactions_check.check(connection)]
        return at_once or await check_in_pieces(connection)


async def check_in_pieces(connection: Conn, *, rows: int = pieces.ROWS) -> list[LedgerFinding]:
    """What a scheduled check finds, in pieces of so many rows."""
    found: list[LedgerFinding] = []
    place: pieces.CheckPosition | None = pieces.START
    while place is not None:
        more, place = await pieces.check_piece(connection, place, rows=rows)
        found += more
    return found


async def assert_clean(database: Database) -> None:
    """Both audits find nothing, all moves sum to zero, and each status has exactly one event."""
    assert await findings(database) == []
    async with database.snapshot() as connection:
        assert sum((await ledger_check.balances(connection)).values()) == 0
        transactions = await connection.fetch("SELECT merchant_id, id, type, status FROM transactions")
        refunded = await connection.fetch(
            """
            SELECT merchant_id, refund_of, count(*) FROM transactions t
            WHERE refund_of IS NOT NULL AND (status = 'COMPLETED' OR EXISTS (
                SELECT FROM corrections c WHERE c.merchant_id = t.merchant_id AND c.transaction_id = t.id))
            GROUP BY 1, 2
            """
        )
        events = await connection.fetch(
            "SELECT merchant_id, transaction_id, event FROM events WHERE event NOT LIKE '%.corrected'"
        )
    reported = Counter((row["merchant_id"], row["transaction_id"], row["event"]) for row in events)
    expected = Counter(
        (row["merchant_id"], row["id"], event) for row in transactions for event in _TOLD[row["type"], row["status"]]
    )
    expected += Counter({(row["merchant_id"], row["refund_of"], "payment.refunded"): row["count"] for row in refunded})
    assert reported == expected


async def wallet(database: Database, merchant_id: str) -> tuple[int, int]:
    """What a merchant may spend, and what is in flight."""
    async with database.read() as connection:
        row = await connection.fetchrow("SELECT available, in_flight FROM wallets WHERE merchant_id = $1", merchant_id)
    assert row is not None
    return row["available"], row["in_flight"]


async def ids(database: Database, merchant_id: str | None = None) -> list[str]:
    """Every transaction there is, of a merchant or of all."""
    async with database.read() as connection:
        rows = await connection.fetch(
            "SELECT id FROM transactions WHERE $1::text IS NULL OR merchant_id = $1 ORDER BY id", merchant_id
        )
    return [row["id"] for row in rows]


async def count(database: Database, table: str) -> int:
    async with database.read() as connection:
        return int(await connection.fetchval(f"SELECT count(*) FROM {table}"))


async def commits(database: Database) -> int:
    """In how many commits the transactions were created."""
    async with database.read() as connection:
        return int(await connection.fetchval("SELECT count(DISTINCT xmin::text) FROM transactions"))


async def largest_commit(database: Database) -> int:
    """How many transactions rode in the fullest commit."""
    async with database.read() as connection:
        found = await connection.fetchval(
            "SELECT max(riders) FROM (SELECT count(*) AS riders FROM transactions GROUP BY xmin::text) AS commits"
        )
    return int(found or 0)
