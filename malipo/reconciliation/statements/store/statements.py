"""The SQL of statements' files and profiles."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.db.whole_sets import whole_sets_sql
from malipo.network_statements.profile import LayoutOperators
from malipo.networks.connector import Channel
from malipo.reconciliation.statements.statement_file import FETCHED_BY, LayoutAuthor, StatementFile
from malipo.reconciliation.statements.stored_problems import problem_of, stored_text

FILE = """
    id, channel, account, sha256, name, profile, begins_at, ends_at, opening, closing, line_count, new_count, problems,
    imported_by, imported_at, opening_cents, closing_cents, withdrawn_at, authors
"""


def authors_sql(file: str) -> str:
    """The names of the layout authors of a statement file, by its alias in the query."""
    return f"ARRAY(SELECT DISTINCT a ->> 'by' FROM jsonb_array_elements({file}.authors) a ORDER BY 1)"


class SavedLayout(NamedTuple):
    """A layout that operators saved, or their meanings of status words for one of malipo's own layouts."""

    name: str
    text: str
    saved_by: str  # who changed it last
    said_by: LayoutOperators


async def lock_content(tx: Tx, sha256: bytes) -> None:
    """Let only one import of the same bytes run at a time, for any account. Taken before the channel's lock."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"statement {sha256.hex()}")


async def lock_channel(tx: Tx, channel: Channel) -> None:
    """Let only one import of a channel run at a time, because each is compared with the files of all accounts of the
    channel. Without a timeout."""
    await tx.execute(whole_sets_sql("64MB"))
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"statements {channel}")


async def insert_file(tx: Tx, file: StatementFile) -> None:
    """Insert a file before its lines, which refer to it. Facts that are known only after the lines: `update_file`."""
    await tx.execute(
        f"INSERT INTO statement_files ({FILE}) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
        file.id,
        file.channel,
        file.account,
        file.sha256,
        file.name,
        file.profile,
        file.begins_at,
        file.ends_at,
        file.opening,
        file.closing,
        file.line_count,
        file.new_count,
        [stored_text(each) for each in file.problems],
        file.imported_by,
        file.imported_at,
        file.opening_cents,
        file.closing_cents,
        file.withdrawn_at,
        _json(file.authors),
    )


async def update_file(tx: Tx, file: StatementFile) -> None:
    """Write the facts that are known when the file has been read."""
    await tx.execute(
        """
        UPDATE statement_files SET begins_at = $2, ends_at = $3, opening = $4, closing = $5, line_count = $6,
            new_count = $7, problems = $8, opening_cents = $9, closing_cents = $10, authors = $11
        WHERE id = $1
        """,
        file.id,
        file.begins_at,
        file.ends_at,
        file.opening,
        file.closing,
        file.line_count,
        file.new_count,
        [stored_text(each) for each in file.problems],
        file.opening_cents,
        file.closing_cents,
        _json(file.authors),
    )


async def add_author(tx: Tx, profile: str, author: LayoutAuthor) -> None:
    """Add an author to the files that this layout read and that another operator imported."""
    await tx.execute(
        """
        UPDATE statement_files SET authors = authors || $2
        WHERE profile = $1 AND imported_by <> $3 AND withdrawn_at IS NULL AND NOT authors @> $2
        """,
        profile,
        _json([author]),
        author.by,
    )


async def find_same(connection: Conn, sha256: bytes) -> list[StatementFile]:
    """Imports of the same bytes that are not withdrawn, of any account: at most one by operators and one fetched,
    except for files that are older than this rule."""
    rows = await connection.fetch(
        f"SELECT {FILE} FROM statement_files WHERE sha256 = $1 AND withdrawn_at IS NULL ORDER BY id", sha256
    )
    return [file_of(row) for row in rows]


async def find_before(tx: Tx, file: StatementFile) -> StatementFile | None:
    """The latest file with a balance that ends where this one begins, or earlier."""
    row = await tx.fetchrow(
        f"""
        SELECT {FILE} FROM statement_files
        WHERE channel = $1 AND account = $2 AND ends_at <= $3 AND closing IS NOT NULL AND withdrawn_at IS NULL
          AND id <> $4
        ORDER BY ends_at DESC, imported_at DESC LIMIT 1
        """,
        file.channel,
        file.account,
        file.begins_at,
        file.id,
    )
    return None if row is None else file_of(row)


async def find_after(tx: Tx, file: StatementFile) -> StatementFile | None:
    """The earliest file with a balance that begins where this one ends, or later."""
    row = await tx.fetchrow(
        f"""
        SELECT {FILE} FROM statement_files
        WHERE channel = $1 AND account = $2 AND begins_at >= $3 AND opening IS NOT NULL AND withdrawn_at IS NULL
          AND id <> $4
        ORDER BY begins_at, imported_at DESC LIMIT 1
        """,
        file.channel,
        file.account,
        file.ends_at,
        file.id,
    )
    return None if row is None else file_of(row)


class FetchedDays(NamedTuple):
    """The begins of the days that the worker has fetched of an account."""

    first: datetime | None  # None if none was fetched
    latest: Sequence[datetime]  # without withdrawn files


async def find_fetched(
    connection: Conn, channel: Channel, account: str, *, profile: str, since: datetime
) -> FetchedDays:
    """The first fetched day, and the fetched days since a moment. An operator's file of the same layout does not count,
    because it could be invented."""
    row = await connection.fetchrow(
        """
        SELECT min(begins_at),
               coalesce(array_agg(begins_at) FILTER (WHERE withdrawn_at IS NULL AND begins_at >= $4), '{}')
        FROM statement_files
        WHERE channel = $1 AND account = $2 AND profile = $3 AND ends_at > begins_at AND imported_by = $5
        """,
        channel,
        account,
        profile,
        since,
        FETCHED_BY,
    )
    assert row is not None
    return FetchedDays(row[0], row[1])


async def find_files(connection: Conn, *, channel: Channel | None = None, limit: int) -> list[StatementFile]:
    """The files, the latest imported first."""
    rows = await connection.fetch(
        f"SELECT {FILE} FROM statement_files WHERE $1::text IS NULL OR channel = $1 ORDER BY id DESC LIMIT $2",
        channel,
        limit,
    )
    return [file_of(row) for row in rows]


async def find_files_of(connection: Conn, *, until: datetime) -> list[StatementFile]:
    """Find, for each account, its files of the ten days before this moment, the last one before them, and the next one
    after."""
    rows = await connection.fetch(
        f"""
        WITH counted AS (SELECT * FROM statement_files WHERE withdrawn_at IS NULL)
        SELECT {FILE} FROM counted WHERE id IN (
            SELECT id FROM counted WHERE ends_at >= $1::timestamptz - interval '10 days' AND begins_at < $1
            UNION ALL (SELECT DISTINCT ON (channel, account) id FROM counted WHERE begins_at < $1
                       ORDER BY channel, account, ends_at DESC NULLS LAST)
            UNION ALL (SELECT DISTINCT ON (channel, account) id FROM counted
                       WHERE begins_at >= $1 AND problems = '{{}}' ORDER BY channel, account, begins_at)
        ) ORDER BY channel, account, begins_at, id
        """,
        until,
    )
    return [file_of(row) for row in rows]


async def find_profiles(connection: Conn) -> list[SavedLayout]:
    rows = await connection.fetch("SELECT name, text, saved_by, said_by FROM statement_profiles ORDER BY name")
    return [
        SavedLayout(name, text, saved_by, msgspec.json.decode(said_by, type=LayoutOperators))
        for name, text, saved_by, said_by in rows
    ]


async def lock_profile(tx: Tx, name: str) -> None:
    """Lock a layout until the commit: nobody else changes it, and no file is imported by it."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"layout {name}")


async def share_profile(tx: Tx, name: str) -> str:
    """Lock a layout until the commit against changes, while files are imported by it. Taken before the lock of the
    content.

    Returns the operator who last set whose account it is of, because lines are matched by the current setting.
    """
    await tx.execute("SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))", f"layout {name}")
    found: str | None = await tx.fetchval("SELECT said_by ->> 'carrier' FROM statement_profiles WHERE name = $1", name)
    return found or ""


async def put_profile(tx: Tx, layout: SavedLayout, *, now: datetime) -> None:
    """Save a layout in place of the one with this name. The audit log keeps the earlier one."""
    await tx.execute(
        """
        INSERT INTO statement_profiles (name, text, saved_by, said_by, saved_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (name) DO UPDATE SET text = $2, saved_by = $3, said_by = $4, saved_at = $5
        """,
        layout.name,
        layout.text,
        layout.saved_by,
        _json(layout.said_by),
        now,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def file_of(row: Row | Mapping[str, Any]) -> StatementFile:
    fields = dict(row)
    fields["channel"] = Channel(fields["channel"])
    fields["problems"] = tuple(problem_of(each) for each in fields["problems"])
    fields["authors"] = msgspec.json.decode(fields["authors"], type=tuple[LayoutAuthor, ...])
    return StatementFile(**fields)


async def get(connection: Conn, file_id: str) -> StatementFile | None:
    row = await connection.fetchrow(f"SELECT {FILE} FROM statement_files WHERE id = $1", file_id)
    return None if row is None else file_of(row)


async def find_accounts(connection: Conn, channel: Channel) -> list[str]:
    """The names of the accounts of a channel with imported statements."""
    rows = await connection.fetch(
        "SELECT DISTINCT account FROM statement_files WHERE channel = $1 AND withdrawn_at IS NULL ORDER BY 1", channel
    )
    return [row["account"] for row in rows]


async def find_all_accounts(connection: Conn) -> list[str]:
    """The names of the accounts of all channels."""
    rows = await connection.fetch("SELECT DISTINCT account FROM statement_files WHERE withdrawn_at IS NULL ORDER BY 1")
    return [row["account"] for row in rows]


async def find_profile_of(connection: Conn, file_id: str) -> str:
    """The name of the profile that a file was read by."""
    return str(await connection.fetchval("SELECT profile FROM statement_files WHERE id = $1", file_id))
