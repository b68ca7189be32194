"""Bank accounts of merchants."""

from collections.abc import Collection
from datetime import datetime, timedelta

from malipo.db import Conn, Row, Tx
from malipo.restore.store import installation
from malipo.settlement.bank_account import BankAccount, BankAccountStatus

Key = tuple[str, str]  # a merchant's id and an account's

_ACCOUNTS = f"""
    SELECT a.merchant_id, a.id, a.bic, a.account_number, a.holder_name, a.status, a.replaces, a.created_at,
           a.created_by, a.verified_at, a.usable_from, a.ended_at, a.ended_by, a.end_reason,
           -- Also by one that was stopped after it could be used; not by one that was stopped before.
           (SELECT min(n.usable_from) FROM bank_accounts n
            WHERE n.merchant_id = a.merchant_id AND n.replaces = a.id
              AND (n.status = 'VERIFIED' OR n.ended_at >= n.usable_from)) AS replaced_from,
           CASE WHEN a.status = 'VERIFIED'
                THEN {installation.lost_since_if("a.verified_at", within=timedelta(0))} END AS held_since
    FROM bank_accounts a
"""


def _account_of(row: Row) -> BankAccount:
    return BankAccount(
        merchant_id=row["merchant_id"],
        id=row["id"],
        bic=row["bic"],
        account_number=row["account_number"],
        holder_name=row["holder_name"],
        stored_status=BankAccountStatus(row["status"]),
        replaces=row["replaces"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        verified_at=row["verified_at"],
        usable_from=row["usable_from"],
        replaced_from=row["replaced_from"],
        held_since=row["held_since"],
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
        end_reason=row["end_reason"],
    )


async def insert(tx: Tx, account: BankAccount) -> None:
    await tx.execute(
        """
        INSERT INTO bank_accounts (merchant_id, id, bic, account_number, holder_name, status, replaces, created_at,
                                   created_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        account.merchant_id,
        account.id,
        account.bic,
        account.account_number,
        account.holder_name,
        account.stored_status,
        account.replaces,
        account.created_at,
        account.created_by,
    )


async def get(connection: Conn, merchant_id: str, account_id: str) -> BankAccount | None:
    row = await connection.fetchrow(f"{_ACCOUNTS} WHERE a.merchant_id = $1 AND a.id = $2", merchant_id, account_id)
    return None if row is None else _account_of(row)


async def get_with_id(connection: Conn, account_id: str) -> BankAccount | None:
    """The account with this id, whichever merchant has it: for operators."""
    row = await connection.fetchrow(f"{_ACCOUNTS} WHERE a.id = $1", account_id)
    return None if row is None else _account_of(row)


async def lock(tx: Tx, account_id: str) -> BankAccount | None:
    """Lock an account until the commit: nobody requests a settlement to it meanwhile."""
    if await tx.fetchrow("SELECT id FROM bank_accounts WHERE id = $1 FOR UPDATE", account_id) is None:
        return None
    return await get_with_id(tx, account_id)


async def lock_all(tx: Tx, merchant_id: str) -> None:
    """Lock the accounts of a merchant against new ones: nobody else adds one before the commit."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR NO KEY UPDATE", merchant_id)


async def find_of(connection: Conn, merchant_id: str) -> list[BankAccount]:
    """All accounts of a merchant, the newest first."""
    rows = await connection.fetch(f"{_ACCOUNTS} WHERE a.merchant_id = $1 ORDER BY a.id DESC", merchant_id)
    return [_account_of(row) for row in rows]


async def lock_shared_of(tx: Tx, merchant_ids: Collection[str]) -> dict[str, list[BankAccount]]:
    """All accounts of these merchants, with a shared lock: none of them is stopped before the commit."""
    ids = list(merchant_ids)
    await tx.fetch("SELECT id FROM bank_accounts WHERE merchant_id = ANY($1::text[]) ORDER BY id FOR SHARE", ids)
    rows = await tx.fetch(f"{_ACCOUNTS} WHERE a.merchant_id = ANY($1::text[]) ORDER BY a.id", ids)
    found: dict[str, list[BankAccount]] = {each: [] for each in ids}
    for row in rows:
        found[row["merchant_id"]].append(_account_of(row))
    return found


async def find(connection: Conn, keys: Collection[Key]) -> dict[Key, BankAccount]:
    rows = await connection.fetch(
        f"{_ACCOUNTS} WHERE (a.merchant_id, a.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))",
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return {(row["merchant_id"], row["id"]): _account_of(row) for row in rows}


async def lock_shared(tx: Tx, keys: Collection[Key]) -> dict[Key, BankAccount]:
    """These accounts, with a shared lock: none of them is stopped before the commit."""
    await tx.fetch(
        """
        SELECT id FROM bank_accounts WHERE (merchant_id, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        ORDER BY id FOR SHARE
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return await find(tx, keys)


async def find_unverified(connection: Conn) -> list[BankAccount]:
    rows = await connection.fetch(f"{_ACCOUNTS} WHERE a.status = 'UNVERIFIED' ORDER BY a.created_at, a.id")
    return [_account_of(row) for row in rows]


async def find_latest(connection: Conn, *, limit: int) -> list[BankAccount]:
    """Of all merchants, the newest first."""
    rows = await connection.fetch(f"{_ACCOUNTS} ORDER BY a.created_at DESC, a.id DESC LIMIT $1", limit)
    return [_account_of(row) for row in rows]


async def verify(tx: Tx, account: BankAccount, *, now: datetime, usable_from: datetime) -> None:
    """Mark an account as verified. The caller has locked it."""
    await tx.execute(
        """
        UPDATE bank_accounts SET status = 'VERIFIED', verified_at = $3, usable_from = $4
        WHERE merchant_id = $1 AND id = $2
        """,
        account.merchant_id,
        account.id,
        now,
        usable_from,
    )


async def confirm(tx: Tx, account: BankAccount, *, now: datetime) -> None:
    """Mark an account as verified now, after a restore. It keeps its wait. The caller has locked it."""
    await tx.execute(
        "UPDATE bank_accounts SET verified_at = $3 WHERE merchant_id = $1 AND id = $2",
        account.merchant_id,
        account.id,
        now,
    )


async def find_held(connection: Conn) -> list[BankAccount]:
    """Of all merchants, those that wait for a confirmation since a restore."""
    rows = await connection.fetch(
        f"SELECT * FROM ({_ACCOUNTS}) a WHERE held_since IS NOT NULL ORDER BY merchant_id, id"
    )
    return [_account_of(row) for row in rows]


async def end(tx: Tx, account: BankAccount, status: BankAccountStatus, *, by: str, reason: str, now: datetime) -> None:
    """Reject or stop an account. The caller has locked it."""
    await tx.execute(
        """
        UPDATE bank_accounts SET status = $3, ended_at = $4, ended_by = $5, end_reason = $6
        WHERE merchant_id = $1 AND id = $2
        """,
        account.merchant_id,
        account.id,
        status,
        now,
        by,
        reason,
    )
