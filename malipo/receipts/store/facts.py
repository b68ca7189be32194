"""The SQL of facts: their rows, and their places in the log, which are assigned under the lock of appending."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.merchants.public_profile import PublicProfile
from malipo.receipts.fact import Kind, Merchant

_encode = msgspec.json.Encoder(enc_hook=bytes.hex).encode

# The log to which facts are appended: the latest one, if it is of this epoch.
_CURRENT = """
    (SELECT number FROM receipt_logs
     WHERE number = (SELECT max(number) FROM receipt_logs) AND installation_epoch = (SELECT epoch FROM installation))
"""


class NewFact(msgspec.Struct, frozen=True):
    merchant_id: str
    transaction_id: str
    subject_id: str
    kind: Kind
    ordinal: int
    entry: str  # as hexadecimal digits, as the salt
    salt: str
    fact: str


async def find_merchants(connection: Conn, merchant_ids: Sequence[str]) -> dict[str, Merchant]:
    """Merchants by id, with the names that their customers know now."""
    rows = await connection.fetch(
        """
        SELECT m.id, m.name, p.name AS shown_name, p.tin
        FROM merchants m LEFT JOIN public_profiles p ON p.merchant_id = m.id WHERE m.id = ANY($1::text[])
        """,
        list(merchant_ids),
    )
    return {row["id"]: _merchant_of(row) for row in rows}


def _merchant_of(row: Row) -> Merchant:
    profile = PublicProfile(row["name"], row["shown_name"])
    return Merchant(row["id"], profile.shown_name, profile.other_name, row["tin"])


async def find_current_log(connection: Conn) -> int | None:
    number: int | None = await connection.fetchval(f"SELECT {_CURRENT}")
    return number


async def append(tx: Tx, log: int, facts: Sequence[NewFact]) -> int:
    """Append the facts that no log has yet, in their order. Returns their number."""
    appended: int = await tx.fetchval(
        """
        WITH new_facts AS (
            SELECT new.*, row_number() OVER (ORDER BY place) AS place_of_new
            FROM (SELECT t.*, row_number() OVER () AS place FROM json_to_recordset($2) AS t (
                      merchant_id text, transaction_id text, subject_id text, kind text, ordinal smallint, entry text,
                      salt text, fact text)) AS new
            WHERE NOT EXISTS (
                SELECT FROM receipt_facts f
                WHERE f.merchant_id = new.merchant_id AND f.transaction_id = new.transaction_id
                  AND f.subject_id = new.subject_id AND f.kind = new.kind AND f.ordinal = new.ordinal)),
        grown AS (
            UPDATE receipt_logs SET size = size + (SELECT count(*) FROM new_facts) WHERE number = $1
            RETURNING size - (SELECT count(*) FROM new_facts) AS size_before),
        written AS (
            INSERT INTO receipt_facts (merchant_id, transaction_id, subject_id, kind, ordinal, log_number, leaf_index,
                                       entry, salt, fact)
            SELECT t.merchant_id, t.transaction_id, t.subject_id, t.kind, t.ordinal, $1,
                   g.size_before + t.place_of_new - 1, decode(t.entry, 'hex'), decode(t.salt, 'hex'), t.fact
            FROM new_facts t, grown g RETURNING 1)
        SELECT count(*) FROM written
        """,
        log,
        _encode(facts).decode(),
    )
    return appended


class Lag(NamedTuple):
    """How far the log is behind a merchant's feed."""

    merchant_id: str
    logged_to: int
    pruned_to: int
    last_number: int

    @property
    def has_its_events(self) -> bool:
        """Whether the events that the log lacks still exist."""
        return self.logged_to >= self.pruned_to

    def end_of_piece(self, most: int) -> int:
        return min(self.logged_to + most, self.last_number)


async def find_lags(tx: Tx, *, most_of_merchant: int, most: int) -> tuple[list[Lag], bool]:
    """Merchants whose events the log lacks, the shortest lags first, until they have `most` numbers, if each is read up
    to its limit. And whether these are all."""
    rows = await tx.fetch(
        """
        WITH behind AS (
            SELECT merchant_id, logged_to, pruned_to, last_number, count(*) OVER () AS merchants,
                   sum(least(last_number - logged_to, $1)) OVER (
                       ORDER BY last_number - logged_to, merchant_id
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM feeds WHERE logged_to < last_number)
        SELECT merchant_id, logged_to, pruned_to, last_number, merchants FROM behind
        WHERE coalesce(before, 0) < $2 ORDER BY merchant_id
        """,
        most_of_merchant,
        most,
    )
    lags = [Lag(row["merchant_id"], row["logged_to"], row["pruned_to"], row["last_number"]) for row in rows]
    return lags, not rows or rows[0]["merchants"] == len(rows)


async def move_positions(tx: Tx, lags: Sequence[Lag], positions: Sequence[int]) -> bool:
    """Move the positions to the end of the log's facts. Returns False if some of the events to read were deleted
    meanwhile, or another process has moved a position."""
    moved: int = await tx.fetchval(
        """
        WITH wanted AS (
            SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
                AS w (merchant_id, logged_to, pruned_to, position)),
        locked AS (
            SELECT merchant_id, logged_to, pruned_to FROM feeds WHERE merchant_id = ANY($1)
            ORDER BY merchant_id FOR UPDATE),
        moved AS (
            UPDATE feeds f SET logged_to = w.position FROM wanted w JOIN locked l USING (merchant_id)
            WHERE f.merchant_id = w.merchant_id AND l.logged_to = w.logged_to AND l.pruned_to = w.pruned_to
            RETURNING 1)
        SELECT count(*) FROM moved
        """,
        [each.merchant_id for each in lags],
        [each.logged_to for each in lags],
        [each.pruned_to for each in lags],
        positions,
    )
    return moved == len(lags)


class KeptEvent(NamedTuple):
    id: str
    merchant_id: str
    event: str
    body: str
    ordinal: int


async def find_events(tx: Tx, lags: Sequence[Lag], ends: Sequence[int], *, events: Sequence[str]) -> list[KeptEvent]:
    """The events between the position of each merchant and an end, by merchant and in the feed's order."""
    rows = await tx.fetch(
        """
        SELECT e.id, e.merchant_id, e.event, e.body, e.ordinal
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS w (merchant_id, logged_to, until)
        CROSS JOIN LATERAL (
            SELECT * FROM events e
            WHERE e.merchant_id = w.merchant_id AND e.feed_number > w.logged_to AND e.feed_number <= w.until
              AND e.event = ANY($4)
            ORDER BY e.feed_number) e
        ORDER BY e.merchant_id, e.feed_number
        """,
        [each.merchant_id for each in lags],
        [each.logged_to for each in lags],
        ends,
        events,
    )
    return [KeptEvent(*row.values()) for row in rows]


class Place(NamedTuple):
    log: int
    leaf: int  # its index


class KeptFact(NamedTuple):
    """A fact of a receipt. If it was erased, it has no salt and no text."""

    subject_id: str
    kind: Kind
    ordinal: int
    place: Place
    entry: bytes
    salt: bytes | None
    fact: str | None


async def find(connection: Conn, merchant_id: str, transaction_id: str) -> list[KeptFact]:
    """The facts of a receipt: that it was completed first, as programs that verify it expect, and then in the order in
    which they were appended. A payment from before the log, or whose leaf a restore has lost, may be corrected before
    its completion is appended."""
    rows = await connection.fetch(
        """
        SELECT subject_id, kind, ordinal, log_number, leaf_index, entry, salt, fact FROM receipt_facts
        WHERE merchant_id = $1 AND transaction_id = $2 ORDER BY kind <> 'completed', log_number, leaf_index
        """,
        merchant_id,
        transaction_id,
    )
    return [
        KeptFact(
            row["subject_id"],
            Kind(row["kind"]),
            row["ordinal"],
            Place(row["log_number"], row["leaf_index"]),
            row["entry"],
            row["salt"],
            row["fact"],
        )
        for row in rows
    ]


async def find_entries(connection: Conn, log: int, *, begin: int, end: int) -> list[bytes]:
    """The entries of leaves, in order. If some are missing, fewer are returned. The first leaf is not among them."""
    rows = await connection.fetch(
        """
        SELECT entry FROM receipt_facts WHERE log_number = $1 AND leaf_index >= $2 AND leaf_index < $3
        ORDER BY leaf_index
        """,
        log,
        begin,
        end,
    )
    return [row["entry"] for row in rows]


async def erase(tx: Tx, merchant_id: str, transaction_id: str) -> int:
    """Delete salt and text of a receipt's facts, without which its entries show nothing. Returns their number."""
    done = await tx.execute(
        """
        UPDATE receipt_facts SET salt = NULL, fact = NULL
        WHERE merchant_id = $1 AND transaction_id = $2 AND fact IS NOT NULL
        """,
        merchant_id,
        transaction_id,
    )
    return int(done.rpartition(" ")[2])


async def take_over(tx: Tx, log: int) -> int:
    """Move the leaves that no published checkpoint of an earlier log covers to the end of this log. Returns their
    number."""
    moved: int = await tx.fetchval(
        """
        WITH covered AS (
            SELECT l.number, coalesce((SELECT max(c.size) FROM receipt_checkpoints c WHERE c.log_number = l.number), 1)
                   AS size
            FROM receipt_logs l WHERE l.number < $1),
        open AS (
            SELECT f.log_number, f.leaf_index, row_number() OVER (ORDER BY f.log_number, f.leaf_index) AS place
            FROM covered c JOIN receipt_facts f ON f.log_number = c.number AND f.leaf_index >= c.size),
        ended AS (
            UPDATE receipt_logs l SET size = c.size FROM covered c WHERE l.number = c.number AND l.size > c.size),
        grown AS (
            UPDATE receipt_logs SET size = size + (SELECT count(*) FROM open) WHERE number = $1
            RETURNING size - (SELECT count(*) FROM open) AS size_before),
        moved AS (
            UPDATE receipt_facts f SET log_number = $1, leaf_index = g.size_before + o.place - 1
            FROM open o, grown g WHERE f.log_number = o.log_number AND f.leaf_index = o.leaf_index RETURNING 1)
        SELECT count(*) FROM moved
        """,
        log,
    )
    await tx.execute(
        """
        DELETE FROM receipt_tiles t USING receipt_logs l
        WHERE l.number = t.log_number AND l.number < $1 AND t.level = 0 AND (t.tile + 1) * 256 > l.size
        """,
        log,
    )
    return moved


async def find_walk(tx: Tx, merchant_id: str) -> str:
    found: str | None = await tx.fetchval("SELECT after_id FROM receipt_walks WHERE merchant_id = $1", merchant_id)
    return found or ""


async def set_walk(tx: Tx, merchant_id: str, after_id: str) -> None:
    await tx.execute(
        """
        INSERT INTO receipt_walks VALUES ($1, $2) ON CONFLICT (merchant_id) DO UPDATE SET after_id = excluded.after_id
        """,
        merchant_id,
        after_id,
    )


async def end_walk(tx: Tx, merchant_id: str) -> None:
    await tx.execute("DELETE FROM receipt_walks WHERE merchant_id = $1", merchant_id)


class OldPayment(NamedTuple):
    """A payment for the log whose events were pruned."""

    id: str
    is_completed: bool
    correction_count: int


async def find_old(tx: Tx, merchant_id: str, *, after: str, most: int) -> list[OldPayment]:
    """The next payments of a merchant, the oldest first, with the facts that their pruned events had."""
    rows = await tx.fetch(
        """
        SELECT t.id,
               t.status = 'COMPLETED' AND NOT EXISTS (
                   SELECT FROM events e WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                     AND e.event IN ('payment.completed', 'payout.completed')) AS is_completed,
               CASE WHEN c.latest IS NULL OR EXISTS (
                   SELECT FROM events e WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                     AND e.event IN ('payment.corrected', 'payout.corrected') AND e.ordinal = c.told)
                   THEN 0 ELSE c.told END AS told
        FROM (SELECT merchant_id, id, status FROM transactions
              WHERE merchant_id = $1 AND id > $2 ORDER BY id LIMIT $3) t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        ORDER BY t.id
        """,
        merchant_id,
        after,
        most,
    )
    return [OldPayment(*row.values()) for row in rows]


async def find_payment(connection: Conn, reference: str) -> tuple[str, str] | None:
    """The merchant and the id of the payment with this reference."""
    row = await connection.fetchrow("SELECT merchant_id, id FROM transactions WHERE reference = $1", reference)
    return None if row is None else (row["merchant_id"], row["id"])
