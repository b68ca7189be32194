"""Wallets and moves: locks wallets, inserts moves, updates balances."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.ledger.accounts import Account, Move, Posting
from malipo.ledger.wallet import Wallet

_encode = msgspec.json.Encoder().encode


async def lock(tx: Tx, merchant_ids: Iterable[str]) -> dict[str, Wallet]:
    """Lock the wallets of these merchants until the commit, always in the order of their ids."""
    wanted = sorted(set(merchant_ids))
    if not wanted:
        return {}
    rows = await tx.fetch(
        """
        SELECT merchant_id, available, in_flight, statement_lines, owed FROM wallets
        WHERE merchant_id = ANY($1) ORDER BY merchant_id FOR UPDATE
        """,
        wanted,
    )
    return {row["merchant_id"]: Wallet(*row.values()) for row in rows}


async def find(connection: Conn, merchant_ids: Iterable[str]) -> dict[str, Wallet]:
    """The wallets of these merchants. Nothing is locked."""
    rows = await connection.fetch(
        "SELECT merchant_id, available, in_flight, statement_lines, owed FROM wallets WHERE merchant_id = ANY($1)",
        sorted(set(merchant_ids)),
    )
    return {row["merchant_id"]: Wallet(*row.values()) for row in rows}


async def find_owing(connection: Conn, merchant_ids: Iterable[str]) -> set[str]:
    """Those of these merchants that owe something after corrections. Nothing is locked."""
    rows = await connection.fetch(
        "SELECT merchant_id FROM wallets WHERE merchant_id = ANY($1) AND owed > 0", sorted(set(merchant_ids))
    )
    return {row["merchant_id"] for row in rows}


class _Row(msgspec.Struct, frozen=True):
    """A move as it is written."""

    merchant_id: str
    cause_id: str
    step: str
    ordinal: int
    move_number: int
    source: str
    target: str
    channel: str | None
    amount: int
    statement_line: int | None
    balance_after: int | None


def documents_of(wallets: Mapping[str, Wallet], postings: Sequence[Posting]) -> tuple[str, str]:
    """The moves, and the wallets after them, as JSON documents for `insert_moves_sql` and `update_wallets_sql`."""
    touched: dict[str, Wallet] = {}
    rows: list[_Row] = []
    for posting in postings:
        wallet = touched.get(posting.merchant_id) or wallets[posting.merchant_id]
        for move_number, move in enumerate(posting.moves, start=1):
            wallet = wallet.after([move])
            rows.append(_row(posting, move_number, move, wallet))
        touched[posting.merchant_id] = wallet.after((), owed=posting.owed) if posting.owed else wallet
    return _encode(rows).decode(), _encode([*touched.values()]).decode()


def insert_moves_sql(moves: str, now: str) -> str:
    """Inserts moves, as a part of a larger statement. The caller names the parameters."""
    return f"""
        INSERT INTO moves (merchant_id, cause_id, step, ordinal, move_number, source, target, channel, amount,
                           statement_line, balance_after, created_at)
        SELECT new.*, {now}::timestamptz FROM json_to_recordset({moves}) AS new (
            merchant_id text, cause_id text, step text, ordinal smallint, move_number smallint, source text,
            target text, channel text, amount bigint, statement_line bigint, balance_after bigint)
    """


def update_wallets_sql(wallets: str, now: str) -> str:
    """Updates the balances of wallets, as a part of the statement that inserts the moves."""
    return f"""
        UPDATE wallets SET available = new.available, in_flight = new.in_flight,
                           statement_lines = new.statement_lines, owed = new.owed,
                           updated_at = greatest(wallets.updated_at, {now}::timestamptz)
        FROM json_to_recordset({wallets})
             AS new (merchant_id text, available bigint, in_flight bigint, statement_lines bigint, owed bigint)
        WHERE wallets.merchant_id = new.merchant_id
    """


_POST = f"WITH moved AS ({insert_moves_sql('$1', '$3')}) {update_wallets_sql('$2', '$3')}"


async def post(tx: Tx, wallets: Mapping[str, Wallet], postings: Sequence[Posting], *, now: datetime) -> None:
    """Insert moves, and update the wallets, which the caller has locked."""
    if postings:
        await tx.execute(_POST, *documents_of(wallets, postings), now)


def _row(posting: Posting, line: int, move: Move, after: Wallet) -> _Row:
    in_statement = move.change_of(Account.WALLET) != 0
    return _Row(
        posting.merchant_id,
        posting.cause_id,
        posting.step,
        posting.ordinal,
        line,
        move.source,
        move.target,
        move.channel,
        move.amount,
        after.statement_lines if in_statement else None,
        after.available if in_statement else None,
    )


async def open_wallet(tx: Tx, merchant_id: str, *, now: datetime) -> None:
    await tx.execute("INSERT INTO wallets (merchant_id, updated_at) VALUES ($1, $2)", merchant_id, now)


async def get(connection: Conn, merchant_id: str) -> tuple[Wallet, datetime]:
    row = await connection.fetchrow(
        """
        SELECT merchant_id, available, in_flight, statement_lines, owed, updated_at FROM wallets WHERE merchant_id = $1
        """,
        merchant_id,
    )
    assert row is not None, "a merchant has a wallet from the first"
    *wallet, updated_at = row.values()
    return Wallet(*wallet), updated_at
