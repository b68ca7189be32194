"""The SQL of the ledger checks that workers run on a schedule: one at a time, piece by piece, under a lease."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.ledger.check import LedgerFinding

_MOST_FINDINGS = 100
_KEPT_DAYS = 90
_COLUMNS = """
    id, started_at, finished_at, piece_count, busy_seconds, longest_seconds, finding_count, findings
"""

# The number of findings that rows of a newer version explain: not known to be wrong, but not checked either.
NEWER_COUNT = "(SELECT count(*) FROM json_array_elements(findings) AS f WHERE f ->> 'newer_schema' IS NOT NULL)"
IS_CLEAN = f"(finding_count = 0 AND {NEWER_COUNT} = 0)"


class CheckClaim(NamedTuple):
    """A check that a worker may continue at `next_piece`; None is the beginning."""

    check_id: str
    next_piece: list[Any] | None


class LedgerCheck(NamedTuple):
    id: str
    started_at: datetime
    finished_at: datetime | None
    piece_count: int
    busy_seconds: float
    longest_seconds: float
    finding_count: int
    findings: list[LedgerFinding]


async def claim(
    tx: Tx, new_id: str, claim_id: str, *, every_seconds: float, again_seconds: float, lease_seconds: float
) -> CheckClaim | None:
    """Claim the running check, if no other worker has its lease; or a new one, if one is due; else return None.

    A new one is due `every_seconds` after the end of the last one; `again_seconds` if that one has found something.
    """
    await tx.execute(
        """
        INSERT INTO ledger_checks (id)
        SELECT $1 WHERE NOT EXISTS (SELECT FROM ledger_checks WHERE finished_at IS NULL) AND coalesce(
            (SELECT finished_at + CASE WHEN finding_count > 0 THEN $3::float8 ELSE $2::float8 END * interval '1 s'
                    <= now()
             FROM ledger_checks WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1), true)
        ON CONFLICT DO NOTHING
        """,
        new_id,
        float(every_seconds),
        float(again_seconds),
    )
    row = await tx.fetchrow(
        """
        UPDATE ledger_checks SET claim_id = $1, leased_until = now() + make_interval(secs => $2)
        WHERE id = (SELECT id FROM ledger_checks WHERE finished_at IS NULL FOR UPDATE SKIP LOCKED)
          AND (claim_id IS NULL OR claim_id = $1 OR leased_until < now())
        RETURNING id, next_piece
        """,
        claim_id,
        float(lease_seconds),
    )
    if row is None:
        return None
    return CheckClaim(row["id"], None if row["next_piece"] is None else msgspec.json.decode(row["next_piece"]))


async def record_piece(
    tx: Tx, check_id: str, claim_id: str, found: list[LedgerFinding], next_piece: list[Any] | None, *, seconds: float
) -> LedgerCheck | None:
    """Record a piece. Without a next piece the check has ended, and is returned. None otherwise, or if another worker
    has claimed the check by now."""
    row = await tx.fetchrow(
        f"""
        UPDATE ledger_checks
        SET next_piece = $3, finished_at = CASE WHEN $3::json IS NULL THEN now() END, piece_count = piece_count + 1,
            busy_seconds = busy_seconds + $4, longest_seconds = greatest(longest_seconds, $4),
            finding_count = finding_count + $5,
            findings = CASE WHEN json_array_length(findings) < {_MOST_FINDINGS}
                            THEN (findings::jsonb || $6::jsonb)::json ELSE findings END
        WHERE id = $1 AND claim_id = $2 AND finished_at IS NULL RETURNING {_COLUMNS}
        """,
        check_id,
        claim_id,
        None if next_piece is None else msgspec.json.encode(next_piece).decode(),
        seconds,
        sum(each.is_wrong for each in found),
        msgspec.json.encode(found[:_MOST_FINDINGS]).decode(),
    )
    return None if row is None else _check_of(row)


async def find_last(connection: Conn) -> LedgerCheck | None:
    """The last check that has ended."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM ledger_checks WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1"
    )
    return None if row is None else _check_of(row)


async def find_running(connection: Conn) -> LedgerCheck | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM ledger_checks WHERE finished_at IS NULL")
    return None if row is None else _check_of(row)


async def prune(tx: Tx) -> None:
    """Delete old checks, except the last one without findings, whose age is reported."""
    await tx.execute(
        f"""
        DELETE FROM ledger_checks
        WHERE finished_at < now() - make_interval(days => $1)
          AND id <> (SELECT id FROM ledger_checks WHERE {IS_CLEAN} AND finished_at IS NOT NULL
                     ORDER BY finished_at DESC LIMIT 1)
        """,
        _KEPT_DAYS,
    )


def _check_of(row: Row) -> LedgerCheck:
    stored = dict(row.items())
    return LedgerCheck(**stored | {"findings": msgspec.json.decode(stored["findings"], type=list[LedgerFinding])})
