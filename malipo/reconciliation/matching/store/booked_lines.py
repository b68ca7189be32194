"""The SQL of lines that are booked and not matched with payments: fees, sweeps, and transfers to and from the bank."""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo import clock, ids
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.exception import (
    ID_PREFIX,
    UNMATCHED_LINE_KINDS,
    ExceptionKind,
    FoundException,
)
from malipo.reconciliation.matching.store.told_by_network import SIGNED, keys_of_sql
from malipo.reconciliation.statements.statement_file import FETCHED_BY
from malipo.reconciliation.statements.store.statements import authors_sql

_AUTHORS = authors_sql("f")


# Lines that are booked as sums. Incoming money is never booked as a fee: it may be a payment whose remark says "fees".
def has_summed_kind_sql(kind: str) -> str:
    """A condition: whether a line `l` of this kind is booked in a sum."""
    return f"({kind} = 'sweep' OR {kind} = 'fee' AND l.amount < 0)"


HAS_SUMMED_KIND = has_summed_kind_sql("l.kind")
# Without fees and sweeps that may be payments, or whose booking operators have undone: each has an exception, and only
# operators decide about it.
IS_SUMMED = f"""
    {HAS_SUMMED_KIND} AND NOT EXISTS (
        SELECT FROM reconciliation_exceptions e
        WHERE e.line_id = l.id AND e.kind IN ({", ".join(f"'{kind}'" for kind in UNMATCHED_LINE_KINDS)}))
"""
# Of lines that are not in the queue: lines with the words of a fee that are matched with a payment.
IS_PAYMENT = "EXISTS (SELECT FROM statement_matches p WHERE p.line_id = l.id AND p.role = 'payment')"


# The nearest whole shillings of a sum of lines, and at least 1, as in `money.split_movement`.
SHILLINGS = """
    CASE WHEN abs(sum(l.amount * 100 + l.cents)) BETWEEN 1 AND 49 THEN sign(sum(l.amount * 100 + l.cents))
         ELSE round(sum(l.amount * 100 + l.cents) / 100.0) END
"""


def unconfirmed_sql(kind: str, *, without: str = "NULL") -> str:
    """An expression: the shillings of lines `l` of this kind, in files `f`, to which no fetched statement gives this
    kind. The file `without` is ignored."""
    return f"""
        coalesce(ceil(sum(abs(l.amount * 100 + l.cents) / 100.0) FILTER (
            WHERE f.imported_by <> '{FETCHED_BY}' AND NOT EXISTS (
                SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
                WHERE k.line_id = l.id AND k.kind = {kind} AND n.imported_by = '{FETCHED_BY}'
                  AND n.withdrawn_at IS NULL AND n.id IS DISTINCT FROM {without}))), 0)::bigint
    """


class ChargeSum(msgspec.Struct, frozen=True, kw_only=True):
    """The fees or the sweeps of a file on a day."""

    file_id: str
    channel: str
    account: str
    kind: str
    day: date
    cents: int  # the whole sum in cents, signed as in the statement
    imported_by: str = ""
    lines: int = 0
    unconfirmed: int = 0  # shillings without signs, of lines to which no fetched statement gives the same kind
    money_in: int = 0  # incoming shillings
    money_out: int = 0
    authors: tuple[str, ...] = ()  # of the layout that read the file, beside its importer


class UnbookedLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: Channel
    account: str
    amount: int

    def as_exception(self, kind: ExceptionKind, *, now: datetime) -> FoundException:
        return FoundException(
            id=ids.mint(ID_PREFIX, now),
            kind=kind,
            channel=self.channel,
            account=self.account,
            line_id=self.line_id,
            amount=self.amount,
        )


class SuspectLine(UnbookedLine, frozen=True, kw_only=True):
    """A line that would be booked by its words, and whose receipt no line of a payment has."""

    kind: str
    day: date
    key: str
    phone: str
    is_charge: bool  # it names the key of a paid payment, with another amount


class BookedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was booked by its words, in the sum of its file, kind and day."""

    line_id: int
    receipt: str
    file_id: str
    channel: str
    account: str
    kind: str
    day: date
    key: str
    payments: list[str]  # with its receipt and amount, and without a line


class ToldLine(BookedLine, frozen=True, kw_only=True):
    """A booked line whose key was told by a file that was imported later."""

    amount: int
    told_in: str  # the file
    told_by: str
    authors: tuple[str, ...]  # of the layout that read that file, beside its importer

    @property
    def is_fetched(self) -> bool:
        return self.told_by == FETCHED_BY


class BankLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: str
    amount: int
    day: date
    words: str  # all texts that may contain the bank's reference
    key: str = ""
    phone: str = ""
    is_own: bool = False  # the network's own statement has it


class BookedTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """A transfer that operators have booked, and that is not paired with a line of the network's own yet."""

    booking_id: str
    channel: str
    amount: int
    day: date
    reference: str
    line_id: int | None = None  # a line of an operator's file that one of the network's own would replace


async def sum_lines(connection: Conn, file_id: str | None = None) -> list[ChargeSum]:
    """The open sums of fees and sweeps, of all files or of one."""
    rows = await connection.fetch(
        f"""
        SELECT l.file_id, l.channel, l.account, l.kind,
               {_DAY_OF_LINE} AS day,
               sum(l.amount * 100 + l.cents)::bigint AS cents, f.imported_by, count(*) AS lines,
               {unconfirmed_sql("l.kind")} AS unconfirmed,
               coalesce(sum(l.amount) FILTER (WHERE l.amount > 0), 0)::bigint AS money_in,
               coalesce(-sum(l.amount) FILTER (WHERE l.amount < 0), 0)::bigint AS money_out, {_AUTHORS} AS authors
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        JOIN statement_files f ON f.id = l.file_id
        WHERE {IS_SUMMED} AND ($1::text IS NULL OR l.file_id = $1)
        GROUP BY 1, 2, 3, 4, 5, f.imported_by, f.authors ORDER BY 1, 4, 5
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), ChargeSum) for row in rows]


async def close_summed(tx: Tx, file_ids: Sequence[str]) -> None:
    """Take the lines of `sum_lines` of these files from the queue. They are the same lines, because the caller has
    taken the lock of matching."""
    await tx.execute(
        f"""
        DELETE FROM open_statement_lines o USING statement_lines l
        WHERE l.id = o.line_id AND l.file_id = ANY($1) AND {IS_SUMMED}
        """,
        list(file_ids),
    )


async def find_summed(tx: Tx, file_id: str) -> list[UnbookedLine]:
    """The lines of `sum_lines` of a file, one by one."""
    rows = await tx.fetch(
        f"""
        SELECT l.id AS line_id, l.channel, l.account, l.amount
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.file_id = $1 AND {IS_SUMMED} ORDER BY l.id
        """,
        file_id,
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


async def find_lines(tx: Tx, line_ids: Sequence[int]) -> list[UnbookedLine]:
    rows = await tx.fetch(
        "SELECT id AS line_id, channel, account, amount FROM statement_lines WHERE id = ANY($1) ORDER BY id",
        list(line_ids),
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


# The channels whose payments an account's statement may have: its own; all of them for an aggregator's account.
_ACCOUNTS = """
    accounts AS MATERIALIZED (
        SELECT channel, account, bool_or(profile = ANY($1) OR account = ANY($2)) AS is_shared
        FROM statement_files WHERE withdrawn_at IS NULL GROUP BY 1, 2
    )
"""
# Whether another line with the receipt of the line `l` is a payment's: then `l` is a charge for that payment.
_HAS_PAYMENT_LINE = """
    (l.receipt <> '' AND EXISTS (
        SELECT FROM accounts a JOIN statement_lines p ON p.channel = a.channel AND p.account = a.account
        WHERE a.channel = l.channel AND p.receipt = l.receipt AND p.id <> l.id AND p.kind = 'money'))
"""
# Whether the payment `t` cannot be the line's: it has a line, or is an undone adoption.
_HAS_OTHER = """
    (EXISTS (SELECT FROM statement_matches s
             WHERE s.merchant_id = t.merchant_id AND s.transaction_id = t.id AND s.role = 'payment')
     OR EXISTS (SELECT FROM adopted_payments d
                WHERE d.merchant_id = t.merchant_id AND d.transaction_id = t.id AND d.undone_at IS NOT NULL))
"""
# Lines that were booked in a sum, and are not known to be a charge for a payment.
_IS_BOOKED = f"""
    {IS_SUMMED} AND l.amount <> 0
    AND EXISTS (SELECT FROM matched_files q WHERE q.file_id = l.file_id)
    AND NOT EXISTS (SELECT FROM open_statement_lines o WHERE o.line_id = l.id)
    AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.line_id = l.id)
"""
_BOOKED = "l.id AS line_id, l.receipt, l.file_id, l.channel, l.account, l.kind"
_DAY_OF_LINE = clock.day_sql("l.moved_at")


async def find_suspects(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[SuspectLine]:
    """Lines in the queue that would be booked by their words, and name a key or a phone number."""
    rows = await tx.fetch(
        f"""
        WITH {_ACCOUNTS}
        SELECT l.id AS line_id, l.channel, l.account, l.kind, l.amount, {_DAY_OF_LINE} AS day, l.key, l.phone,
               l.kind = 'fee' AND EXISTS (
                   SELECT FROM accounts a CROSS JOIN unnest(CASE WHEN a.is_shared THEN $3::text[]
                                                            ELSE ARRAY[a.channel] END) AS c (channel)
                   CROSS JOIN LATERAL ({keys_of_sql("l.key")}) AS k (key)
                   JOIN transactions t ON t.channel = c.channel AND t.network_key = k.key
                   LEFT JOIN corrections r ON r.merchant_id = t.merchant_id AND r.transaction_id = t.id
                   WHERE (a.channel, a.account) = (l.channel, l.account) AND l.key <> ''
                     AND (coalesce(r.is_paid, t.status = 'COMPLETED') OR EXISTS (
                         SELECT FROM statement_matches m WHERE m.merchant_id = t.merchant_id
                         AND m.transaction_id = t.id AND m.role = 'payment'))) AS is_charge
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE {IS_SUMMED} AND (l.key <> '' OR l.phone <> '') AND NOT {_HAS_PAYMENT_LINE}
          AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.line_id = l.id)
        ORDER BY l.id
        """,
        list(layouts),
        list(accounts),
        list(Channel),
    )
    return [msgspec.convert(dict(row), SuspectLine) for row in rows]


async def find_like_payments(
    tx: Tx,
    line_ids: Sequence[int],
    *,
    layouts: Sequence[str],
    accounts: Sequence[str],
    first: Sequence[str],
    last: Sequence[str],
) -> set[int]:
    """The lines with the number and the amount of a payment that is open, or that was paid and has neither a line nor a
    receipt."""
    rows = await tx.fetch(
        f"""
        WITH {_ACCOUNTS}, suspect AS MATERIALIZED (
            SELECT l.id, l.amount, a.channel, a.is_shared,
                   '%' || regexp_replace(regexp_replace(l.phone, '^\\+', ''), '[*xX]+', '%') AS pattern
            FROM statement_lines l JOIN accounts a ON a.channel = l.channel AND a.account = l.account
            WHERE l.id = ANY($3) AND l.phone <> '' AND l.cents = 0
        )
        SELECT DISTINCT u.id FROM merchants m CROSS JOIN unnest($4::text[], $5::text[]) AS w (first, last)
        CROSS JOIN LATERAL (
            SELECT p.* FROM transactions p
            WHERE p.merchant_id = m.id AND p.id >= w.first AND p.id <= w.last AND p.network_key <> p.id
              AND (p.ended_at IS NULL OR p.status = 'COMPLETED' AND coalesce(p.provider_reference, '') = '')
        ) t
        JOIN suspect u ON {SIGNED} = u.amount AND (u.is_shared OR u.channel = t.channel) AND t.phone LIKE u.pattern
        WHERE NOT {_HAS_OTHER}
        """,
        list(layouts),
        list(accounts),
        list(line_ids),
        list(first),
        list(last),
    )
    return {row["id"] for row in rows}


async def find_booked_of_payments(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[BookedLine]:
    """Booked lines with the exact facts of payments whose float has moved since the last complete run. The query goes
    from the payments to the lines, because only lines have an index of receipts."""
    rows = await tx.fetch(
        f"""
        WITH {_ACCOUNTS}, moved AS MATERIALIZED (
            SELECT DISTINCT e.merchant_id, e.cause_id FROM moves e
            WHERE e.merchant_id <> '{HOUSE}' AND e.channel IS NOT NULL AND e.created_at >= (
                -- Absence is checked at the end of a run. A commit may be slower than the next one.
                SELECT coalesce(max(queued_at) FILTER (WHERE is_absence_checked), min(queued_at)) - interval '1 hour'
                FROM matched_files)
        )
        SELECT {_BOOKED}, l.key, {_DAY_OF_LINE} AS day, array_agg(DISTINCT t.id) AS payments
        FROM moved JOIN transactions t ON t.merchant_id = moved.merchant_id AND t.id = moved.cause_id
        JOIN accounts a ON a.is_shared OR a.channel = t.channel
        CROSS JOIN LATERAL (
            SELECT l.* FROM statement_lines l
            WHERE l.channel = a.channel AND l.account = a.account AND l.receipt = t.provider_reference COLLATE "C"
              AND l.amount = {SIGNED} AND l.cents = 0 OFFSET 0
        ) l
        WHERE t.provider_reference <> '' AND NOT {_HAS_OTHER} AND {_IS_BOOKED} AND NOT {_HAS_PAYMENT_LINE}
        GROUP BY l.id, l.receipt, l.file_id, l.channel, l.account, l.kind, l.key, l.moved_at ORDER BY 1
        """,
        list(layouts),
        list(accounts),
    )
    return [msgspec.convert(dict(row), BookedLine) for row in rows]


async def find_booked_with_told_keys(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[ToldLine]:
    """Booked lines whose key was told by files that no complete run has seen: a payment without a line has exactly this
    key, or no payment has it and a fetched file tells it. (An operator's file could be invented.)"""
    rows = await tx.fetch(
        f"""
        WITH {_ACCOUNTS}
        SELECT DISTINCT {_BOOKED}, k.key, {_DAY_OF_LINE} AS day, ARRAY[]::text[] AS payments,
               l.amount, f.id AS told_in, f.imported_by AS told_by, {_AUTHORS} AS authors
        FROM statement_line_copies k JOIN statement_lines l ON l.id = k.line_id
        JOIN statement_files f ON f.id = k.file_id AND f.withdrawn_at IS NULL
        JOIN accounts a ON a.channel = l.channel AND a.account = l.account
        CROSS JOIN LATERAL (
            SELECT count(*) AS known, count(*) FILTER (WHERE {SIGNED} = l.amount AND l.cents = 0 AND NOT {_HAS_OTHER})
                   AS exact
            FROM unnest(CASE WHEN a.is_shared THEN $3::text[] ELSE ARRAY[a.channel] END) AS c (channel)
            CROSS JOIN LATERAL ({keys_of_sql("k.key")}) AS n (key)
            JOIN transactions t ON t.channel = c.channel AND t.network_key = n.key
        ) p
        WHERE k.file_id IN (SELECT q.file_id FROM matched_files q WHERE NOT q.is_absence_checked)
          AND k.key <> '' AND {_IS_BOOKED}
          AND (p.exact > 0 AND (k.key = l.key OR f.imported_by = '{FETCHED_BY}')
               OR p.known = 0 AND f.imported_by = '{FETCHED_BY}')
          AND NOT {_HAS_PAYMENT_LINE}
        ORDER BY 1
        """,
        list(layouts),
        list(accounts),
        list(Channel),
    )
    return [msgspec.convert(dict(row), ToldLine) for row in rows]


async def find_still_open(tx: Tx, line_ids: Sequence[int]) -> list[UnbookedLine]:
    """The lines that are in the queue."""
    rows = await tx.fetch(
        """
        SELECT l.id AS line_id, l.channel, l.account, l.amount
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id WHERE l.id = ANY($1) ORDER BY l.id
        """,
        list(line_ids),
    )
    return [msgspec.convert(dict(row), UnbookedLine) for row in rows]


async def find_booking_of(tx: Tx, line: BookedLine, *, kind: str) -> str | None:
    """The booking of the line's file, kind and day; None if its lines cancelled each other."""
    found: str | None = await tx.fetchval(
        """
        SELECT b.id FROM house_bookings b
        WHERE b.file_id = $1 AND b.account = $2 AND b.kind = $3 AND b.reference = $4 AND b.line_id IS NULL
          AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
        """,
        line.file_id,
        line.account,
        kind,
        line.day.isoformat(),
    )
    return found


async def sum_booked(tx: Tx, line: BookedLine, *, without: Sequence[int]) -> ChargeSum | None:
    """The sum that was booked with a line, without these lines; None if no line is left."""
    row = await tx.fetchrow(
        f"""
        SELECT l.file_id, l.channel, l.account, l.kind, {_DAY_OF_LINE} AS day,
               sum(l.amount * 100 + l.cents)::bigint AS cents
        FROM statement_lines l
        WHERE l.file_id = $1 AND l.account = $2 AND l.kind = $3 AND {_DAY_OF_LINE} = $4 AND l.id <> ALL($5)
          AND l.amount <> 0
          AND {IS_SUMMED} AND NOT {IS_PAYMENT}
          AND NOT EXISTS (SELECT FROM open_statement_lines o WHERE o.line_id = l.id)
        GROUP BY 1, 2, 3, 4, 5
        """,
        line.file_id,
        line.account,
        line.kind,
        line.day,
        list(without),
    )
    return None if row is None else msgspec.convert(dict(row), ChargeSum)


async def close_line(tx: Tx, line_id: int) -> bool:
    """Take a line from the queue. Returns whether it was there."""
    return bool(await tx.execute("DELETE FROM open_statement_lines WHERE line_id = $1", line_id) == "DELETE 1")


async def reopen_line(tx: Tx, line_id: int) -> None:
    await tx.execute(
        "INSERT INTO open_statement_lines (line_id, channel) SELECT id, channel FROM statement_lines WHERE id = $1",
        line_id,
    )


def _is_own_bank_line(line: str) -> str:
    """A condition: whether the network's own statement calls a line a bank transfer."""
    return f"""
        CASE WHEN EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id) THEN EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND k.kind = 'bank' AND n.imported_by = '{FETCHED_BY}'
              AND n.withdrawn_at IS NULL)
        ELSE EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}') END
    """


async def find_bank_lines(connection: Conn) -> list[BankLine]:
    """Lines of bank transfers in the queue, in the order of their times."""
    rows = await connection.fetch(
        f"""
        SELECT l.id AS line_id, l.channel, l.amount, {_DAY_OF_LINE} AS day,
               concat_ws(' ', l.receipt, l.key, l.details) AS words, l.key, l.phone,
               {_is_own_bank_line("l")} AS is_own
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.kind = 'bank' AND l.cents = 0 ORDER BY l.moved_at, l.id
        """
    )
    return [msgspec.convert(dict(row), BankLine) for row in rows]


async def find_transfers(connection: Conn) -> list[BookedTransfer]:
    """Transfers without a line, and transfers whose line only operators brought, if a line of the network's own with
    their amount is in the queue."""
    rows = await connection.fetch(
        f"""
        WITH transfer AS (
            SELECT b.id AS booking_id, b.channel, CASE b.source WHEN 'float' THEN b.amount ELSE -b.amount END AS amount,
                   b.value_date AS day, b.reference, m.line_id
            FROM house_bookings b
            LEFT JOIN statement_matches m ON m.merchant_id = '{HOUSE}' AND m.transaction_id = b.id
                 AND m.role = 'booking'
            WHERE b.kind = 'bank_transfer' AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
        ), own AS MATERIALIZED (
            SELECT DISTINCT l.channel, l.amount FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
            WHERE l.kind = 'bank' AND l.cents = 0 AND {_is_own_bank_line("l")}
        )
        SELECT t.* FROM transfer t LEFT JOIN statement_lines d ON d.id = t.line_id
        WHERE t.line_id IS NULL OR (t.channel, t.amount) IN (SELECT channel, amount FROM own)
              AND NOT {_is_own_bank_line("d")}
        ORDER BY t.booking_id
        """
    )
    return [msgspec.convert(dict(row), BookedTransfer) for row in rows]


async def match_transfers(tx: Tx, pairs: Sequence[tuple[int, str]], *, now: datetime) -> int:
    """Match lines with bookings. Returns their number."""
    return int(
        await tx.fetchval(
            f"""
            WITH matched AS (
                INSERT INTO statement_matches (
                    line_id, merchant_id, transaction_id, role, how, is_reported, ledger_at, matched_by, matched_at)
                SELECT p.line_id, '{HOUSE}', p.booking_id, 'booking', 'transfer', true, b.booked_at, '{SYSTEM_NAME}', $3
                FROM unnest($1::bigint[], $2::text[]) AS p (line_id, booking_id)
                JOIN house_bookings b ON b.id = p.booking_id
                ON CONFLICT DO NOTHING RETURNING line_id
            ), closed AS (
                DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
            )
            SELECT count(*) FROM matched
            """,
            [line_id for line_id, _ in pairs],
            [booking_id for _, booking_id in pairs],
            now,
        )
    )


async def reopen_lines(tx: Tx, line_ids: list[int]) -> None:
    """Put lines back into the queue."""
    await tx.execute(
        """
        INSERT INTO open_statement_lines (line_id, channel)
        SELECT id, channel FROM statement_lines WHERE id = ANY($1) ON CONFLICT DO NOTHING
        """,
        line_ids,
    )
