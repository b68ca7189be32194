"""Settlements. Rows are always locked in the order of their ids, before wallets."""

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import NamedTuple

import msgspec

from malipo import clock
from malipo.db import Conn, Row, Tx
from malipo.settlement.settlement import Settlement, SettlementStatus

_COLUMNS = """
    s.merchant_id, s.id, s.key, s.reference, s.status, s.amount, s.fee, s.bank_account_id, s.order_reference,
    s.scheduled_on, s.created_at, s.created_by, s.statement_line, s.payout_file_id, s.sent_at, s.completed_at,
    s.booked_on, s.bank_reference, s.returned_at, s.return_reason, s.return_booked_on, s.return_bank_reference,
    s.cancelled_at, s.cancelled_by, s.is_adopted, s.owed, s.borne
"""

_encode = msgspec.json.Encoder().encode


class UsedKey(NamedTuple):
    """What an idempotency key was used for."""

    request_hash: bytes
    settlement: Settlement


def settlement_of(row: Row) -> Settlement:
    return Settlement(
        merchant_id=row["merchant_id"],
        id=row["id"],
        key=row["key"],
        reference=row["reference"],
        status=SettlementStatus(row["status"]),
        amount=row["amount"],
        fee=row["fee"],
        bank_account_id=row["bank_account_id"],
        order_reference=row["order_reference"],
        scheduled_on=row["scheduled_on"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        statement_line=row["statement_line"],
        payout_file_id=row["payout_file_id"],
        sent_at=row["sent_at"],
        completed_at=row["completed_at"],
        booked_on=row["booked_on"],
        bank_reference=row["bank_reference"],
        returned_at=row["returned_at"],
        return_reason=row["return_reason"],
        return_booked_on=row["return_booked_on"],
        return_bank_reference=row["return_bank_reference"],
        cancelled_at=row["cancelled_at"],
        cancelled_by=row["cancelled_by"],
        is_adopted=row["is_adopted"],
        owed=row["owed"],
        borne=row["borne"],
    )


async def insert(tx: Tx, settlement: Settlement, *, idempotency_key: str | None, request_hash: bytes) -> bool:
    """Store a new settlement. Returns whether its id, its keys and its day were new. It waits for a commit that is
    using one of them."""
    done = await tx.execute(
        """
        INSERT INTO settlements (merchant_id, id, key, reference, status, amount, fee, bank_account_id, order_reference,
                                 scheduled_on, created_at, created_by, statement_line, payout_file_id, sent_at,
                                 completed_at, booked_on, bank_reference, is_adopted, owed, idempotency_key,
                                 request_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
        ON CONFLICT DO NOTHING
        """,
        settlement.merchant_id,
        settlement.id,
        settlement.key,
        settlement.reference,
        settlement.status,
        settlement.amount,
        settlement.fee,
        settlement.bank_account_id,
        settlement.order_reference,
        settlement.scheduled_on,
        settlement.created_at,
        settlement.created_by,
        settlement.statement_line,
        settlement.payout_file_id,
        settlement.sent_at,
        settlement.completed_at,
        settlement.booked_on,
        settlement.bank_reference,
        settlement.is_adopted,
        settlement.owed,
        idempotency_key,
        request_hash,
    )
    return done == "INSERT 0 1"


async def note_key(tx: Tx, settlement: Settlement, *, idempotency_key: str, request_hash: bytes) -> None:
    """Note the request of an adopted settlement, which was lost with a restore."""
    await tx.execute(
        """
        UPDATE settlements SET idempotency_key = $3, request_hash = $4
        WHERE merchant_id = $1 AND id = $2 AND idempotency_key IS NULL
        """,
        settlement.merchant_id,
        settlement.id,
        idempotency_key,
        request_hash,
    )


async def get(connection: Conn, merchant_id: str, settlement_id: str) -> Settlement | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM settlements s WHERE s.merchant_id = $1 AND s.id = $2", merchant_id, settlement_id
    )
    return None if row is None else settlement_of(row)


async def find(connection: Conn, settlement_ids: Collection[str]) -> list[Settlement]:
    """The settlements with these ids, whichever merchant has them, in the order of their ids."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM settlements s WHERE s.id = ANY($1::text[]) ORDER BY s.id", list(settlement_ids)
    )
    return [settlement_of(row) for row in rows]


async def lock(tx: Tx, settlement_ids: Collection[str]) -> dict[str, Settlement]:
    """Lock these settlements until the commit, always in the order of their ids."""
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM settlements s WHERE s.id = ANY($1::text[]) ORDER BY s.id FOR UPDATE",
        list(settlement_ids),
    )
    return {row["id"]: settlement_of(row) for row in rows}


async def lock_due(tx: Tx, *, most: int) -> list[Settlement]:
    """Lock the oldest settlements that are in no file."""
    rows = await tx.fetch(
        f"""
        SELECT {_COLUMNS} FROM settlements s WHERE s.status = 'REQUESTED' AND s.payout_file_id IS NULL
        ORDER BY s.id LIMIT $1 FOR UPDATE
        """,
        most,
    )
    # While a row was waited for, another commit can have taken it into a file; PostgreSQL has looked again.
    return [settlement_of(row) for row in rows]


async def lock_by_key(tx: Tx, key: str) -> Settlement | None:
    """Lock the settlement that the bank knows by this key."""
    row = await tx.fetchrow(f"SELECT {_COLUMNS} FROM settlements s WHERE s.key = $1 FOR UPDATE", key)
    return None if row is None else settlement_of(row)


async def lock_by_keys(tx: Tx, keys: Collection[str]) -> dict[str, Settlement]:
    rows = await tx.fetch(
        f"SELECT {_COLUMNS} FROM settlements s WHERE s.key = ANY($1::text[]) ORDER BY s.id FOR UPDATE", list(keys)
    )
    return {row["key"]: settlement_of(row) for row in rows}


async def find_by_keys(connection: Conn, keys: Collection[str]) -> dict[str, Settlement]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM settlements s WHERE s.key = ANY($1::text[])", list(keys))
    return {row["key"]: settlement_of(row) for row in rows}


async def find_by_idempotency_key(connection: Conn, merchant_id: str, key: str) -> UsedKey | None:
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS}, s.request_hash FROM settlements s WHERE s.merchant_id = $1 AND s.idempotency_key = $2
        """,
        merchant_id,
        key,
    )
    return None if row is None else UsedKey(row["request_hash"], settlement_of(row))


async def find_of_file(connection: Conn, file_id: str) -> list[Settlement]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM settlements s WHERE s.payout_file_id = $1 ORDER BY s.id", file_id
    )
    return [settlement_of(row) for row in rows]


async def find_to_stopped(connection: Conn) -> list[Settlement]:
    """The settlements in approved files whose bank account was stopped since, the oldest first."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM settlements s
        JOIN bank_accounts a ON (a.merchant_id, a.id) = (s.merchant_id, s.bank_account_id)
        WHERE s.status = 'SENT' AND a.status = 'STOPPED' ORDER BY s.id
        """
    )
    return [settlement_of(row) for row in rows]


async def find_gone_to(
    connection: Conn, merchant_id: str, bank_account_id: str, *, completed_since: datetime
) -> list[Settlement]:
    """The settlements to a bank account that are in approved files, and those that the bank has paid since then."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM settlements s
        WHERE s.merchant_id = $1 AND s.bank_account_id = $2
          AND (s.status = 'SENT' OR s.status = 'COMPLETED' AND s.completed_at > $3)
        ORDER BY s.id
        """,
        merchant_id,
        bank_account_id,
        completed_since,
    )
    return [settlement_of(row) for row in rows]


async def find_page(
    connection: Conn, merchant_id: str, *, status: SettlementStatus | None = None, page: int, limit: int
) -> tuple[int, list[Settlement]]:
    """The number of settlements, and one page of them, newest first."""
    wanted = "s.merchant_id = $1 AND ($2::text IS NULL OR s.status = $2)"
    total = await connection.fetchval(f"SELECT count(*) FROM settlements s WHERE {wanted}", merchant_id, status)
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM settlements s WHERE {wanted} ORDER BY s.id DESC LIMIT $3 OFFSET $4",
        merchant_id,
        status,
        limit,
        (page - 1) * limit,
    )
    return int(total), [settlement_of(row) for row in rows]


async def sum_open(connection: Conn, merchant_id: str) -> int:
    """The amounts that are on their way to the bank: the merchant's balance of `in_settlement`."""
    return int(
        await connection.fetchval(
            """
            SELECT coalesce(sum(amount), 0)::bigint FROM settlements
            WHERE merchant_id = $1 AND status IN ('REQUESTED', 'SENT')
            """,
            merchant_id,
        )
    )


async def find_sums_open(connection: Conn, merchant_ids: Collection[str]) -> dict[str, int]:
    """As `sum_open`, of those of these merchants that have any."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, sum(amount)::bigint AS amount FROM settlements
        WHERE merchant_id = ANY($1::text[]) AND status IN ('REQUESTED', 'SENT') GROUP BY merchant_id
        """,
        list(merchant_ids),
    )
    return {row["merchant_id"]: row["amount"] for row in rows}


async def set_file(tx: Tx, settlement_ids: Sequence[str], file_id: str | None) -> None:
    await tx.execute(
        "UPDATE settlements SET payout_file_id = $2 WHERE id = ANY($1::text[])", list(settlement_ids), file_id
    )


async def update(tx: Tx, settlements: Sequence[Settlement]) -> None:
    """Write what can change of these. The caller has locked them."""
    rows = [
        {
            "id": each.id,
            "status": each.status,
            "payout_file_id": each.payout_file_id,
            "sent_at": each.sent_at,
            "completed_at": each.completed_at,
            "booked_on": each.booked_on,
            "bank_reference": each.bank_reference,
            "returned_at": each.returned_at,
            "return_reason": each.return_reason,
            "return_booked_on": each.return_booked_on,
            "return_bank_reference": each.return_bank_reference,
            "cancelled_at": each.cancelled_at,
            "cancelled_by": each.cancelled_by,
            "is_adopted": each.is_adopted,
            "owed": each.owed,
            "borne": each.borne,
        }
        for each in settlements
    ]
    await tx.execute(
        """
        UPDATE settlements s
        SET status = new.status, payout_file_id = new.payout_file_id, sent_at = new.sent_at,
            completed_at = new.completed_at, booked_on = new.booked_on, bank_reference = new.bank_reference,
            returned_at = new.returned_at, return_reason = new.return_reason, return_booked_on = new.return_booked_on,
            return_bank_reference = new.return_bank_reference, cancelled_at = new.cancelled_at,
            cancelled_by = new.cancelled_by, is_adopted = new.is_adopted, owed = new.owed, borne = new.borne
        FROM json_to_recordset($1) AS new (
            id text, status text, payout_file_id text, sent_at timestamptz, completed_at timestamptz, booked_on date,
            bank_reference text, returned_at timestamptz, return_reason text, return_booked_on date,
            return_bank_reference text, cancelled_at timestamptz, cancelled_by text, is_adopted boolean, owed bigint,
            borne bigint)
        WHERE s.id = new.id
        """,
        _encode(rows).decode(),
    )


async def find_owing(connection: Conn) -> list[Settlement]:
    """Adopted settlements of which the wallet still owes something, oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM settlements s WHERE s.owed > 0 ORDER BY s.id")
    return [settlement_of(row) for row in rows]


async def find_inactive_merchants(connection: Conn, merchant_ids: Collection[str]) -> set[str]:
    rows = await connection.fetch(
        "SELECT id FROM merchants WHERE id = ANY($1::text[]) AND NOT is_active", list(set(merchant_ids))
    )
    return {row["id"] for row in rows}


async def find_line_before(connection: Conn, settlement: Settlement) -> int:
    """The line of the wallet's statement with which the settlement before this one ends; 0 if it is the first."""
    found = await connection.fetchval(
        "SELECT max(statement_line) FROM settlements WHERE merchant_id = $1 AND statement_line < $2",
        settlement.merchant_id,
        settlement.statement_line,
    )
    return int(found or 0)


async def find_last_known(connection: Conn, *, before: datetime) -> date | None:
    """The day of the last thing that is known of settlements before a moment."""
    day: date | None = await connection.fetchval(
        f"""
        SELECT {clock.day_sql("max(greatest(created_at, sent_at, completed_at, returned_at))")}
        FROM settlements WHERE created_at < $1 AND greatest(created_at, sent_at, completed_at, returned_at) < $1
        """,
        before,
    )
    return day


async def count_resolutions(tx: Tx, settlement: Settlement) -> int:
    """How often a part of what is owed of an adopted settlement was taken from the wallet or written off."""
    found = await tx.fetchval(
        "SELECT max(ordinal) FROM moves WHERE merchant_id = $1 AND cause_id = $2 AND step = 'resolution'",
        settlement.merchant_id,
        settlement.id,
    )
    return int(found or 0)


async def find_now(connection: Conn) -> datetime:
    """The time of the database's clock, which decides from when a bank account can be used."""
    now: datetime = await connection.fetchval("SELECT clock_timestamp()")
    return now


async def find_latest(connection: Conn, *, status: SettlementStatus | None, limit: int) -> list[Settlement]:
    """The latest settlements of all merchants, newest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM settlements s WHERE $1::text IS NULL OR s.status = $1 ORDER BY s.id DESC LIMIT $2",
        status,
        limit,
    )
    return [settlement_of(row) for row in rows]
