"""The SQL of lines that are booked and not matched with payments: fees, sweeps, and transfers to and from the bank."""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.networks.connector import Channel
from malipo.reconciliation.exception import KINDS_WITHOUT_PLACE, SYSTEM
from malipo.reconciliation.store.statements import FETCHED_BY


# Lines that are booked as sums. What came in is never booked as a fee: it may be a payment whose remark says "fees".
def summed(kind: str) -> str:
    """Of a line `l` that is called so."""
    return f"({kind} = 'sweep' OR {kind} = 'fee' AND l.amount < 0)"


SUMMED = summed("l.kind")
# Fees and sweeps whose booking operators have undone have an exception each, and only operators decide about them.
IS_SUMMED = f"""
    {SUMMED} AND NOT EXISTS (
        SELECT FROM reconciliation_exceptions e
        WHERE e.line_id = l.id AND e.kind IN ({", ".join(f"'{kind}'" for kind in KINDS_WITHOUT_PLACE)}))
"""
# Of lines that are not in the queue: words of a fee, and matched with a payment all the same.
IS_PAYMENT = "EXISTS (SELECT FROM statement_matches p WHERE p.line_id = l.id AND p.role = 'payment')"


# As `money.split_movement` has it: the nearest whole shillings of a sum of lines, and never 0 of something.
SHILLINGS = """
    CASE WHEN abs(sum(l.amount * 100 + l.cents)) BETWEEN 1 AND 49 THEN sign(sum(l.amount * 100 + l.cents))
         ELSE round(sum(l.amount * 100 + l.cents) / 100.0) END
"""


def untold(kind: str, *, without: str = "NULL") -> str:
    """In shillings, what of lines `l`, called `kind` and of files `f`, no statement of the worker's calls so; as if one
    file were not there."""
    return f"""
        coalesce(ceil(sum(abs(l.amount * 100 + l.cents) / 100.0) FILTER (
            WHERE f.imported_by <> '{FETCHED_BY}' AND NOT EXISTS (
                SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
                WHERE k.line_id = l.id AND k.kind = {kind} AND n.imported_by = '{FETCHED_BY}'
                  AND n.withdrawn_at IS NULL AND n.id IS DISTINCT FROM {without}))), 0)::bigint
    """


class LineSum(msgspec.Struct, frozen=True, kw_only=True):
    """The fees or the sweeps of a file on a day."""

    file_id: str
    channel: str
    account: str
    kind: str
    day: date
    cents: int  # all of it, signed as in the statement
    imported_by: str = ""
    lines: int = 0
    untold: int = 0  # in shillings, whatever their sign: lines that no statement of the worker's calls the same
    money_in: int = 0  # in shillings: what came in
    money_out: int = 0


class UnbookedLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: Channel
    account: str
    amount: int


class BankLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: str
    amount: int
    day: date
    words: str  # everything in which the bank's reference may stand


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer that operators have booked, and that no line was found for yet."""

    booking_id: str
    channel: str
    amount: int
    day: date
    reference: str


async def sum_lines(connection: Conn, file_id: str | None = None) -> list[LineSum]:
    """Of all files, or of one."""
    rows = await connection.fetch(
        f"""
        SELECT l.file_id, l.channel, l.account, l.kind,
               (l.moved_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date AS day,
               sum(l.amount * 100 + l.cents)::bigint AS cents, f.imported_by, count(*) AS lines,
               {untold("l.kind")} AS untold,
               coalesce(sum(l.amount) FILTER (WHERE l.amount > 0), 0)::bigint AS money_in,
               coalesce(-sum(l.amount) FILTER (WHERE l.amount < 0), 0)::bigint AS money_out
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        JOIN statement_files f ON f.id = l.file_id
        WHERE {IS_SUMMED} AND ($1::text IS NULL OR l.file_id = $1)
        GROUP BY 1, 2, 3, 4, 5, f.imported_by ORDER BY 1, 4, 5
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), LineSum) for row in rows]


async def close_summed(tx: Tx, file_ids: Sequence[str]) -> None:
    """The lines of `sum_lines` of these files have their place. The caller holds the lock, so they are the same."""
    await tx.execute(
        f"""
        DELETE FROM open_statement_lines o USING statement_lines l
        WHERE l.id = o.line_id AND l.file_id = ANY($1) AND {IS_SUMMED}
        """,
        list(file_ids),
    )


async def find_summed(tx: Tx, file_id: str) -> list[UnbookedLine]:
    """The lines of `sum_lines` of a file, one by one."""
    rows = await tx.fetch(
        f"""
        SELECT l.id AS line_id, l.channel, l.account, l.amount
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.file_id = $1 AND {IS_SUMMED} ORDER BY l.id
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


async def close_line(tx: Tx, line_id: int) -> bool:
    """Whether it was open."""
    return bool(await tx.execute("DELETE FROM open_statement_lines WHERE line_id = $1", line_id) == "DELETE 1")


async def reopen_line(tx: Tx, line_id: int) -> None:
    await tx.execute(
        "INSERT INTO open_statement_lines (line_id, channel) SELECT id, channel FROM statement_lines WHERE id = $1",
        line_id,
    )


async def find_bank_lines(connection: Conn) -> list[BankLine]:
    """In the order of their times."""
    rows = await connection.fetch(
        """
        SELECT l.id AS line_id, l.channel, l.amount, (l.moved_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date AS day,
               concat_ws(' ', l.receipt, l.key, l.details) AS words
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.kind = 'bank' AND l.cents = 0 ORDER BY l.moved_at, l.id
        """
    )
    return [msgspec.convert(dict(row), BankLine) for row in rows]


async def find_transfers(connection: Conn) -> list[Transfer]:
    rows = await connection.fetch(
        f"""
        SELECT b.id AS booking_id, b.channel, CASE b.source WHEN 'float' THEN b.amount ELSE -b.amount END AS amount,
               b.value_date AS day, b.reference
        FROM house_bookings b
        WHERE b.kind = 'bank_transfer'
          AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
          AND NOT EXISTS (SELECT FROM statement_matches m
                          WHERE m.merchant_id = '{HOUSE}' AND m.transaction_id = b.id AND m.role = 'booking')
        ORDER BY b.id
        """
    )
    return [msgspec.convert(dict(row), Transfer) for row in rows]


async def match_transfers(tx: Tx, pairs: Sequence[tuple[int, str]], *, now: datetime) -> int:
    """Match lines with bookings; how many."""
    return int(
        await tx.fetchval(
            f"""
            WITH matched AS (
                INSERT INTO statement_matches (
                    line_id, merchant_id, transaction_id, role, how, is_reported, ledger_at, matched_by, matched_at)
                SELECT p.line_id, '{HOUSE}', p.booking_id, 'booking', 'transfer', true, b.booked_at, '{SYSTEM}', $3
                FROM unnest($1::bigint[], $2::text[]) AS p (line_id, booking_id)
                JOIN house_bookings b ON b.id = p.booking_id
                ON CONFLICT DO NOTHING RETURNING line_id
            ), closed AS (
                DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
            )
            SELECT count(*) FROM matched
            """,
            [line_id for line_id, _ in pairs],
            [booking_id for _, booking_id in pairs],
            now,
        )
    )
