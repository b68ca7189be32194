"""The SQL of invoices, their numbers, what they say of merchants, and rates of VAT."""

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.invoices.invoice import Invoice, InvoiceKind, InvoiceLine, Issued, Party
from malipo.invoices.tax import TaxRate
from malipo.restore.store import send_counts

_COLUMNS = """
    number, series, year, ordinal, kind, merchant_id, month, corrects, seller, buyer, lines, booking_id, issued_by,
    issued_at, fiscal_number
"""
# The mark of a worker has its issue. A number that nobody has seen can be given again after a restore.
MAY_BE_READ = f"(looks IS NULL OR {send_counts.is_marked_since('looks')})"
_AT_ONCE = 1000  # that are in memory
_lines = msgspec.json.Decoder(tuple[InvoiceLine, ...]).decode
_party = msgspec.json.Decoder(Party).decode


async def take_number(tx: Tx, series: str, year: int) -> int:
    """The next number of a series. The counter is locked until the commit, so that there is no gap."""
    number: int = await tx.fetchval(
        """
        INSERT INTO invoice_counters (series, year, last) VALUES ($1, $2, 1)
        ON CONFLICT (series, year) DO UPDATE SET last = invoice_counters.last + 1 RETURNING last
        """,
        series,
        year,
    )
    return number


async def lock(tx: Tx) -> None:
    """Let no other transaction issue invoices, or set a rate, until the commit."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('invoices', 0))")


async def insert(tx: Tx, invoice: Invoice) -> None:
    await tx.execute(
        f"""
        INSERT INTO invoices ({_COLUMNS}, gross, vat)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::json, $10::json, $11::json, $12, $13, $14, $15, $16, $17)
        """,
        invoice.number,
        invoice.series,
        invoice.year,
        invoice.ordinal,
        invoice.kind,
        invoice.merchant_id,
        invoice.month,
        invoice.corrects,
        *(msgspec.json.encode(each).decode() for each in (invoice.seller, invoice.buyer, invoice.lines)),
        invoice.booking_id,
        invoice.issued_by,
        invoice.issued_at,
        invoice.fiscal_number,
        invoice.gross,
        invoice.vat,
    )


async def note_looks(tx: Tx, numbers: Sequence[str], looks: str) -> None:
    """The looks of workers until the issue of these documents (`restore.store.send_counts`)."""
    await tx.execute("UPDATE invoices SET looks = $2::jsonb WHERE number = ANY($1::text[])", list(numbers), looks)


async def set_fiscal_number(tx: Tx, number: str, fiscal_number: str) -> bool:
    """Returns False if it has another one already."""
    result = await tx.execute(
        "UPDATE invoices SET fiscal_number = $2 WHERE number = $1 AND coalesce(fiscal_number, $2) = $2",
        number,
        fiscal_number,
    )
    return bool(result.endswith(" 1"))


async def find(connection: Conn, number: str, *, merchant_id: str | None = None) -> Invoice | None:
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM invoices
        WHERE number = $1 AND ($2::text IS NULL OR merchant_id = $2) AND {MAY_BE_READ}
        """,
        number,
        merchant_id,
    )
    return None if row is None else _invoice(row)


async def find_latest(
    connection: Conn, *, merchant_id: str | None = None, month: date | None = None, limit: int, offset: int = 0
) -> list[Invoice]:
    """Those that were issued last, first."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM invoices
        WHERE ($1::text IS NULL OR merchant_id = $1) AND ($2::date IS NULL OR month = $2) AND {MAY_BE_READ}
        ORDER BY issued_at DESC, series DESC, year DESC, ordinal DESC LIMIT $3 OFFSET $4
        """,
        merchant_id,
        month,
        limit,
        offset,
    )
    return [_invoice(row) for row in rows]


async def read_latest(
    connection: Conn, *, merchant_id: str | None = None, month: date | None = None
) -> AsyncIterator[Invoice]:
    """All of them, however many there are. The connection is a snapshot of the database."""
    offset = 0
    while found := await find_latest(connection, merchant_id=merchant_id, month=month, limit=_AT_ONCE, offset=offset):
        for each in found:
            yield each
        offset += len(found)


async def find_issued(connection: Conn, month: date) -> set[str]:
    """The merchants whose documents of this month are issued."""
    rows = await connection.fetch("SELECT DISTINCT merchant_id FROM invoices WHERE month = $1", month)
    return {row["merchant_id"] for row in rows}


async def find_by_month(connection: Conn, merchant_id: str) -> dict[date, Issued]:
    """The invoices of a merchant by month."""
    rows = await connection.fetch(
        "SELECT month, number, seller FROM invoices WHERE merchant_id = $1 AND kind = $2",
        merchant_id,
        InvoiceKind.INVOICE,
    )
    return {row["month"]: Issued(row["number"], bool(_party(row["seller"]).vrn)) for row in rows}


async def find_last_month(connection: Conn) -> date | None:
    month: date | None = await connection.fetchval("SELECT max(month) FROM invoices")
    return month


async def find_rates(connection: Conn) -> list[TaxRate]:
    rows = await connection.fetch("SELECT begins_on, basis_points FROM vat_rates ORDER BY begins_on")
    return [TaxRate(*row.values()) for row in rows]


async def set_rate(tx: Tx, rate: TaxRate, *, by: str, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO vat_rates (begins_on, basis_points, set_by, set_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (begins_on) DO UPDATE SET basis_points = excluded.basis_points, set_by = excluded.set_by,
                                              set_at = excluded.set_at
        """,
        rate.begins_on,
        rate.basis_points,
        by,
        now,
    )


async def find_buyer(connection: Conn, merchant_id: str) -> Party:
    """What documents say of a merchant. Without data of its own: the name of its account, and the TIN of its public
    profile."""
    row = await connection.fetchrow(
        """
        SELECT coalesce(b.name, m.name) AS name, coalesce(b.address, '') AS address,
               coalesce(b.tin, p.tin, '') AS tin, coalesce(b.vrn, '') AS vrn
        FROM merchants m LEFT JOIN invoice_buyers b ON b.merchant_id = m.id
             LEFT JOIN public_profiles p ON p.merchant_id = m.id
        WHERE m.id = $1
        """,
        merchant_id,
    )
    assert row is not None, "invoices are for merchants that had fees"
    return Party(**dict(row))


async def save_buyer(tx: Tx, merchant_id: str, buyer: Party, *, by: str, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO invoice_buyers (merchant_id, name, address, tin, vrn, changed_by, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (merchant_id) DO UPDATE SET
            name = excluded.name, address = excluded.address, tin = excluded.tin, vrn = excluded.vrn,
            changed_by = excluded.changed_by, changed_at = excluded.changed_at
        """,
        merchant_id,
        buyer.name,
        buyer.address,
        buyer.tin,
        buyer.vrn,
        by,
        now,
    )


def _invoice(row: Row) -> Invoice:
    columns = dict(row)
    return Invoice(
        **columns
        | {
            "kind": InvoiceKind(columns["kind"]),
            "seller": _party(columns["seller"]),
            "buyer": _party(columns["buyer"]),
            "lines": _lines(columns["lines"]),
        }
    )
