"""The lines of a settlement's report, and their sums."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from malipo.db import Conn, Row
from malipo.settlement.report import Report, ReportGroup, ReportLine, ReportSum
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import settlements

_PIECE = 1000

# A line with its group. What a line is follows from its move, and its fee from the payment or settlement that caused
# it: neither changes later. A correction has no fee of its own here.
_LINES = """
    SELECT m.statement_line, m.balance_after, m.cause_id, m.created_at, w.net,
           coalesce(t.reference, b.bank_reference, s.reference, '') AS reference,
           coalesce(t.order_reference, s.order_reference, '') AS order_reference,
           g.name AS report_group,
           CASE g.name WHEN 'COLLECTION' THEN t.fee WHEN 'PAYOUT' THEN t.fee WHEN 'REFUND' THEN t.fee
                       WHEN 'PAYOUT_RETURNED' THEN -t.fee WHEN 'REFUND_RETURNED' THEN -t.fee
                       WHEN 'SETTLEMENT' THEN s.fee WHEN 'SETTLEMENT_RETURNED' THEN w.returned_fee ELSE 0 END AS fee
    FROM moves m
    LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
    LEFT JOIN bookings b ON b.id = m.cause_id
    LEFT JOIN settlements s ON s.merchant_id = m.merchant_id AND s.id = m.cause_id
    CROSS JOIN LATERAL (
        SELECT CASE m.target WHEN 'wallet' THEN m.amount ELSE -m.amount END AS net,
               -- Of an adopted one less may come back than it took; it has no fee.
               CASE WHEN m.amount = s.amount THEN -s.fee ELSE 0 END AS returned_fee
    ) AS w
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN m.cause_id = $4 AND m.source = 'wallet' AND m.statement_line = $3 THEN 'SETTLEMENT'
            WHEN m.source = 'float' THEN 'COLLECTION'
            WHEN m.target = 'in_flight' THEN CASE WHEN t.refund_of IS NULL THEN 'PAYOUT' ELSE 'REFUND' END
            WHEN m.source = 'in_flight'
                THEN CASE WHEN t.refund_of IS NULL THEN 'PAYOUT_RETURNED' ELSE 'REFUND_RETURNED' END
            WHEN m.source = 'in_settlement' THEN 'SETTLEMENT_RETURNED'
            WHEN m.source = 'bank' THEN 'TOP_UP'
            WHEN m.target = 'bank' THEN 'SETTLEMENT_BOOKED'
            WHEN 'suspense' IN (m.source, m.target) THEN 'CORRECTION' END AS name
    ) AS g
    WHERE m.merchant_id = $1 AND m.statement_line > $2 AND m.statement_line <= $3
"""


async def find_report(connection: Conn, settlement: Settlement) -> Report | None:
    """The report of a settlement; None if its wallet bore nothing of it. The connection is in a snapshot."""
    if settlement.statement_line is None:
        return None
    before = await settlements.find_line_before(connection, settlement)
    opening = await connection.fetchval(
        "SELECT balance_after FROM moves WHERE merchant_id = $1 AND statement_line = $2", settlement.merchant_id, before
    )
    rows = await connection.fetch(
        f"""
        SELECT report_group, count(*) AS count, sum(net)::bigint AS net, sum(fee)::bigint AS fee
        FROM ({_LINES}) AS lines GROUP BY 1
        """,
        settlement.merchant_id,
        before,
        settlement.statement_line,
        settlement.id,
    )
    closing = await connection.fetchval(
        "SELECT balance_after FROM moves WHERE merchant_id = $1 AND statement_line = $2",
        settlement.merchant_id,
        settlement.statement_line,
    )
    found = {
        ReportGroup(row["report_group"]): ReportSum(
            ReportGroup(row["report_group"]), row["count"], row["net"] + row["fee"], row["fee"], row["net"]
        )
        for row in rows
    }
    sums = tuple(found[group] for group in ReportGroup if group in found)
    return Report(settlement, before + 1, settlement.statement_line, opening or 0, closing, sums)


async def page(connection: Conn, report: Report, *, page: int, limit: int) -> list[ReportLine]:
    """One page of the lines, newest first."""
    last = report.last_line - (page - 1) * limit
    first = max(last - limit, report.first_line - 1)
    if last < report.first_line:
        return []
    return [_line(row) for row in (await _lines(connection, report, first, last))[::-1]]


async def stream(
    read: Callable[[Callable[[Conn], Awaitable[Any]]], Awaitable[Any]], report: Report
) -> AsyncIterator[list[ReportLine]]:
    """Every line, oldest first, in pieces, each with a short query of its own."""
    after = report.first_line - 1
    while after < report.last_line:
        last = min(after + _PIECE, report.last_line)
        rows = await read(lambda connection: _lines(connection, report, after, last))  # noqa: B023
        yield [_line(row) for row in rows]
        after = last


async def _lines(connection: Conn, report: Report, after: int, last: int) -> list[Row]:
    return await connection.fetch(
        f"{_LINES} AND m.statement_line > $5 AND m.statement_line <= $6 ORDER BY m.statement_line",
        report.settlement.merchant_id,
        report.first_line - 1,
        report.last_line,
        report.settlement.id,
        after,
        last,
    )


def _line(row: Row) -> ReportLine:
    return ReportLine(
        row["statement_line"],
        ReportGroup(row["report_group"]),
        row["net"] + row["fee"],
        row["fee"],
        row["net"],
        row["balance_after"],
        row["cause_id"],
        row["reference"],
        row["order_reference"],
        row["created_at"],
    )
