"""The SQL of balances by time: of accounts, wallets, floats, and the networks' own accounts."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from malipo import money
from malipo.db import Tx
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.signed_content import CloseReading
from malipo.reconciliation.close.two_columns import AccountFlow
from malipo.reconciliation.statements.coverage import covering
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statements import find_files_of


async def find_flows_before(tx: Tx, day: date, begins: datetime) -> list[AccountFlow]:
    """All moves before the first closed day. This reads the whole ledger, once."""
    return await _flows(
        tx,
        f"""
        SELECT source, target, channel, sum(amount) AS amount FROM moves
        WHERE created_at < $1 AND merchant_id <> '{HOUSE}' GROUP BY 1, 2, 3
        UNION ALL
        SELECT source, target, CASE WHEN 'float' IN (source, target) THEN channel END, sum(amount) FROM house_bookings
        WHERE value_date < $2 GROUP BY 1, 2, 3
        """,
        begins,
        day,
    )


async def find_flows(tx: Tx, begins: datetime, ends: datetime) -> list[AccountFlow]:
    """The moves of merchants between two times, as they are stored now."""
    return await _flows(
        tx,
        f"""
        SELECT source, target, channel, sum(amount) AS amount FROM moves
        WHERE created_at >= $1 AND created_at < $2 AND merchant_id <> '{HOUSE}' GROUP BY 1, 2, 3
        """,
        begins,
        ends,
    )


async def _flows(tx: Tx, sums: str, *values: object) -> list[AccountFlow]:
    rows = await tx.fetch(
        f"""
        SELECT source, target, channel, NULL AS change_kind, sum(amount)::bigint AS amount FROM ({sums}) AS sums
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        """,
        *values,
    )
    return [AccountFlow(**dict(row)) for row in rows]


async def find_wallets(tx: Tx, ends: datetime) -> tuple[int, int, int]:
    """The balances of the stored wallets at that moment (without later moves), and the debts at that moment, by the
    corrections until then: amounts that a wallet must still give back, and that were not written off."""
    row = await tx.fetchrow(
        f"""
        SELECT (w.available - coalesce(since.wallet, 0))::bigint, (w.in_flight - coalesce(since.in_flight, 0))::bigint,
               (coalesce(debts.owed, 0) + coalesce(of_settlements.owed, 0))::bigint
        FROM (SELECT coalesce(sum(available), 0) AS available, coalesce(sum(in_flight), 0) AS in_flight
              FROM wallets) w,
             (SELECT sum(CASE 'wallet' WHEN target THEN amount WHEN source THEN -amount END) AS wallet,
                     sum(CASE 'in_flight' WHEN target THEN amount WHEN source THEN -amount END) AS in_flight
              FROM moves WHERE created_at >= $1 AND merchant_id <> '{HOUSE}') since,
             (SELECT sum(greatest(c.given - CASE t.type WHEN 'COLLECTION' THEN t.amount - t.fee
                                                        ELSE -t.amount - t.fee END
                                  * CASE WHEN NOT c.is_turned THEN 0 WHEN t.status = 'COMPLETED' THEN -1 ELSE 1 END,
                                  0)) AS owed
              FROM (SELECT merchant_id, cause_id, sum(CASE WHEN target IN ('wallet', 'losses') THEN amount
                                                           WHEN source IN ('wallet', 'losses') THEN -amount
                                                           ELSE 0 END) AS given,
                           count(*) FILTER (WHERE step = 'contradiction' AND 'float' IN (source, target)) % 2 = 1
                               AS is_turned
                    FROM moves WHERE step IN ('contradiction', 'resolution') AND created_at < $1 GROUP BY 1, 2) c
              JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.cause_id) AS debts,
             -- What is missing in suspense of adopted settlements.
             (SELECT sum(CASE 'suspense' WHEN m.source THEN m.amount ELSE -m.amount END) AS owed
              FROM settlements s JOIN moves m ON m.merchant_id = s.merchant_id AND m.cause_id = s.id
              WHERE s.is_adopted AND 'suspense' IN (m.source, m.target) AND m.created_at < $1) AS of_settlements
        """,
        ends,
    )
    assert row is not None
    return row[0], row[1], row[2]


async def find_files_by_account(tx: Tx, ends: datetime) -> dict[str, dict[str, list[StatementFile]]]:
    """The files of each channel and account that begin before this moment, and the first one after it."""
    found: dict[str, dict[str, list[StatementFile]]] = {}
    for file in await find_files_of(tx, until=ends):
        found.setdefault(file.channel, {}).setdefault(file.account, []).append(file)
    return found


async def find_readings(
    tx: Tx, begins: datetime, ends: datetime, files: Mapping[str, Mapping[str, Sequence[StatementFile]]]
) -> dict[str, dict[str, CloseReading]]:
    """Find, for each channel and account, the last reading of the day that does not come from a statement, beside the
    statement's balance at that moment."""
    rows = await tx.fetch(
        """
        SELECT DISTINCT ON (channel, account) channel, account, amount, read_at FROM float_readings
        WHERE read_at >= $1 AND read_at < $2 AND source <> 'statement' ORDER BY channel, account, read_at DESC, id DESC
        """,
        begins,
        ends,
    )
    found: dict[str, dict[str, CloseReading]] = {}
    for channel, account, amount, read_at in rows:
        file = covering(files.get(channel, {}).get(account, ()), read_at)
        stated = None if file is None else await balance_at(tx, file, read_at)
        found.setdefault(channel, {})[account] = CloseReading(amount=amount, read_at=read_at, stated=stated)
    return found


async def balance_at(tx: Tx, file: StatementFile, moment: datetime) -> int:
    """The balance of an account at a moment, by a file that begins before it."""
    assert file.opening is not None
    assert file.closing is not None
    if file.ends_at is not None and file.ends_at <= moment:
        return file.closing
    moved = await tx.fetchval(
        """
        SELECT coalesce(sum(amount * 100 + cents), 0)::bigint FROM statement_lines
        WHERE channel = $1 AND account = $2 AND moved_at >= $3 AND moved_at < $4
        """,
        file.channel,
        file.account,
        file.begins_at,
        moment,
    )
    return money.split(file.opening * 100 + file.opening_cents + int(moved))[0]
