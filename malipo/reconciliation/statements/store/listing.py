"""The SQL of lists of statements and their lines, for the pages."""

from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn, Row
from malipo.db.where_clause import Conditions
from malipo.network_statements.statement_line import LineKind
from malipo.networks.connector import Channel
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statements import file_of

_FIRST = "stf_"
_COLUMNS = StatementFile.__struct_fields__


@dataclass(frozen=True, slots=True)
class ListedFile:
    file: StatementFile
    before: StatementFile | None  # the latest that ends where it begins, or earlier


@dataclass(frozen=True, slots=True)
class KindSum:
    """The lines of one kind in a file."""

    kind: LineKind
    line_count: int
    money_in: int
    money_out: int


@dataclass(frozen=True, slots=True)
class ListedLine:
    id: int
    row: int
    receipt: str
    moved_at: datetime
    amount: int
    kind: LineKind
    phone: str
    balance: int | None
    details: str
    cents: int
    balance_cents: int


async def find_page(connection: Conn, *, channel: Channel | None, before: str | None, limit: int) -> list[ListedFile]:
    """The files, the latest imported first, each with the file that it follows."""
    where = Conditions("f.id >= {}", _FIRST)
    where.add("f.channel = {}", channel)
    where.add("f.id < {}", before)
    rows = await connection.fetch(
        f"""
        SELECT f.*, b.id AS before_id FROM statement_files f
        LEFT JOIN LATERAL (
            SELECT id FROM statement_files b
            WHERE b.channel = f.channel AND b.account = f.account AND b.ends_at <= f.begins_at AND b.id <> f.id
                AND b.withdrawn_at IS NULL
            ORDER BY b.ends_at DESC, b.imported_at DESC LIMIT 1
        ) b ON true
        WHERE {where} ORDER BY f.id DESC LIMIT {limit:d}
        """,
        *where.values,
    )
    earlier = await find_files(connection, [row["before_id"] for row in rows if row["before_id"] is not None])
    return [ListedFile(_file(row), earlier.get(row["before_id"])) for row in rows]


async def find_files(connection: Conn, ids: list[str]) -> dict[str, StatementFile]:
    rows = await connection.fetch(f"SELECT {', '.join(_COLUMNS)} FROM statement_files WHERE id = ANY($1::text[])", ids)
    return {row["id"]: _file(row) for row in rows}


async def sum_kinds(connection: Conn, file_id: str) -> list[KindSum]:
    rows = await connection.fetch(
        """
        SELECT kind, count(*) AS line_count, coalesce(sum(amount) FILTER (WHERE amount > 0), 0)::bigint AS money_in,
            coalesce(-sum(amount) FILTER (WHERE amount < 0), 0)::bigint AS money_out
        FROM statement_lines WHERE file_id = $1 GROUP BY kind ORDER BY count(*) DESC, kind
        """,
        file_id,
    )
    return [KindSum(LineKind(row["kind"]), row["line_count"], row["money_in"], row["money_out"]) for row in rows]


async def find_lines(connection: Conn, file_id: str, *, after: int, limit: int) -> list[ListedLine]:
    """Lines in the order of the file; `after` is the last row of the page before."""
    rows = await connection.fetch(
        """
        SELECT id, row, receipt, moved_at, amount, kind, phone, balance, details, cents, balance_cents
        FROM statement_lines
        WHERE file_id = $1 AND row > $2 ORDER BY row LIMIT $3
        """,
        file_id,
        after,
        limit,
    )
    return [ListedLine(**{**dict(row), "kind": LineKind(row["kind"])}) for row in rows]


def _file(row: Row) -> StatementFile:
    return file_of({name: row[name] for name in _COLUMNS})
