"""Payout files and their lines."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec

from malipo import clock
from malipo.bank.payout_file import FileLine, FileStatus, FileTrace, PayoutFile
from malipo.bank_evidence.which_count import MAY_COUNT
from malipo.db import Conn, Tx
from malipo.errors import ensure

_FILE = ", ".join(PayoutFile.__struct_fields__)
_LINE = ", ".join(FileLine.__struct_fields__)


async def insert(tx: Tx, file: PayoutFile, lines: Sequence[FileLine]) -> None:
    await tx.execute(
        """
        INSERT INTO payout_files (id, payer_account_id, status, line_count, total, gathered_by, gathered_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        file.id,
        file.payer_account_id,
        file.status,
        file.line_count,
        file.total,
        file.gathered_by,
        file.gathered_at,
    )
    await tx.execute(
        """
        INSERT INTO payout_file_lines (file_id, settlement_id, merchant_id, reference, key, amount, bic, account, name)
        SELECT $1, l.* FROM json_to_recordset($2) AS l (
            settlement_id text, merchant_id text, reference text, key text, amount bigint, bic text, account text,
            name text)
        """,
        file.id,
        msgspec.json.encode(lines).decode(),
    )


async def find(connection: Conn, *, limit: int = 100) -> list[PayoutFile]:
    """The newest."""
    rows = await connection.fetch(f"SELECT {_FILE} FROM payout_files ORDER BY id DESC LIMIT $1", limit)
    return [_file(dict(row)) for row in rows]


async def get(connection: Conn, name: str) -> PayoutFile | None:
    """By its id, or by its MsgId."""
    row = await connection.fetchrow(f"SELECT {_FILE} FROM payout_files WHERE id = $1 OR message_id = $1", name)
    return None if row is None else _file(dict(row))


async def find_lines(connection: Conn, file_id: str, *, all_: bool = False) -> list[FileLine]:
    """The lines that are in the file; with `all_`, those that have left it too."""
    rows = await connection.fetch(
        f"""
        SELECT {_LINE} FROM payout_file_lines WHERE file_id = $1 AND ($2 OR left_at IS NULL) ORDER BY settlement_id
        """,
        file_id,
        all_,
    )
    return [msgspec.convert(dict(row), FileLine) for row in rows]


async def get_content(connection: Conn, file_id: str) -> bytes:
    """The bytes of an approved file."""
    content = await connection.fetchval("SELECT content FROM payout_files WHERE id = $1", file_id)
    assert content is not None, "an approved file has its bytes"
    return bytes(content)


async def approve(tx: Tx, file: PayoutFile, content: bytes) -> None:
    """Fix the bytes. A file is approved once."""
    done = await tx.execute(
        """
        UPDATE payout_files SET status = 'APPROVED', line_count = $2, total = $3, message_id = $4, content = $5,
               sha256 = $6, pays_on = $7, approved_by = $8, approved_at = $9
        WHERE id = $1 AND status = 'GATHERED'
        """,
        file.id,
        file.line_count,
        file.total,
        file.message_id,
        content,
        file.sha256,
        file.pays_on,
        file.approved_by,
        file.approved_at,
    )
    ensure(done == "UPDATE 1", "a payout file is approved once")


async def note_looks(tx: Tx, file_id: str, looks: str) -> None:
    """The looks of workers until somebody has asked for the file's bytes (`restore.store.send_counts`)."""
    await tx.execute("UPDATE payout_files SET looks = $2::jsonb WHERE id = $1", file_id, looks)


async def was_asked_for(connection: Conn, file_id: str) -> bool:
    """Whether somebody has asked for the file's bytes, and so perhaps has them. Files of before 20 November 2026 have
    the looks at their approval: somebody may have them."""
    found: bool = await connection.fetchval(
        "SELECT looks IS NOT NULL OR downloaded_at IS NOT NULL FROM payout_files WHERE id = $1", file_id
    )
    return found


async def get_looks(connection: Conn, file_id: str) -> str:
    looks: str = await connection.fetchval(
        "SELECT coalesce(looks, '{}')::text FROM payout_files WHERE id = $1", file_id
    )
    return looks


async def note_download(tx: Tx, file_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE payout_files SET downloaded_at = $2 WHERE id = $1", file_id, now)


async def drop_lines(tx: Tx, file_id: str, settlement_ids: Sequence[str], *, why: str, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE payout_file_lines SET left_at = $3, why_left = $4
        WHERE file_id = $1 AND settlement_id = ANY($2) AND left_at IS NULL
        """,
        file_id,
        list(settlement_ids),
        now,
        why,
    )


async def void(tx: Tx, file_id: str, *, by: str, why: str, now: datetime) -> None:
    """Void a file: what is still in it leaves it."""
    done = await tx.execute(
        """
        UPDATE payout_files SET status = 'VOIDED', voided_by = $2, voided_at = $3, why_voided = $4
        WHERE id = $1 AND status <> 'VOIDED'
        """,
        file_id,
        by,
        now,
        why,
    )
    ensure(done == "UPDATE 1", "a payout file is voided once")
    await tx.execute(
        "UPDATE payout_file_lines SET left_at = $2, why_left = 'voided' WHERE file_id = $1 AND left_at IS NULL",
        file_id,
        now,
    )


async def refuse_lines(tx: Tx, file_id: str, settlement_ids: Sequence[str], *, why: str, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE payout_file_lines SET refused_at = $3, why_refused = $4
        WHERE file_id = $1 AND settlement_id = ANY($2) AND refused_at IS NULL
        """,
        file_id,
        list(settlement_ids),
        now,
        why,
    )


async def find_by_message(connection: Conn, message_ids: Collection[str]) -> list[tuple[PayoutFile, list[str]]]:
    """The files with these MsgIds, each with the settlements that it has sent. Of a voided file, that it had sent."""
    rows = await connection.fetch(
        f"""
        SELECT {_FILE}, ARRAY(
            SELECT l.settlement_id FROM payout_file_lines l
            WHERE l.file_id = f.id AND (l.left_at IS NULL OR f.status = 'VOIDED' AND l.why_left = 'voided') ORDER BY 1
        ) AS settlement_ids
        FROM payout_files f WHERE f.message_id = ANY($1) ORDER BY f.id
        """,
        [each for each in message_ids if each],
    )
    return [(_file({name: row[name] for name in PayoutFile.__struct_fields__}), row["settlement_ids"]) for row in rows]


async def find_payers(connection: Conn, file_ids: Collection[str]) -> dict[str, str]:
    """Which of our accounts pays each of these files."""
    rows = await connection.fetch("SELECT id, payer_account_id FROM payout_files WHERE id = ANY($1)", list(file_ids))
    return {row["id"]: row["payer_account_id"] for row in rows}


async def find_traces(connection: Conn, file: PayoutFile) -> list[FileTrace]:
    """What lines of statements that count, or may soon, show of a file: those with its MsgId or a key of it, and the
    debits of its account since its approval that have no place."""
    rows = await connection.fetch(
        f"""
        WITH named AS (
            SELECT b.*, coalesce(b.message_id = $2 OR b.key = $2, false)
                        OR b.key IN (SELECT key FROM payout_file_lines WHERE file_id = $1 AND left_at IS NULL)
                        AS names_file
            FROM bank_lines b
            WHERE EXISTS (SELECT FROM bank_statement_lines s JOIN bank_statements f ON f.id = s.statement_id
                          WHERE s.line_id = b.id AND {MAY_COUNT})
        )
        SELECT DISTINCT b.names_file, EXISTS (SELECT FROM settlements s WHERE s.key = b.key), b.cents FROM named b
        WHERE b.names_file
           OR b.payer_account_id = $3 AND b.booked_on >= $4 AND b.cents < 0
              AND NOT EXISTS (SELECT FROM bank_line_matches m WHERE m.line_id = b.id)
        """,
        file.id,
        file.message_id,
        file.payer_account_id,
        file.approved_at and clock.day_of(file.approved_at),
    )
    return [FileTrace(*row) for row in map(tuple, rows)]


def _file(columns: dict[str, Any]) -> PayoutFile:
    return msgspec.convert({**columns, "status": FileStatus(columns["status"])}, PayoutFile)
