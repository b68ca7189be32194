"""The SQL of facts: their rows, and their places in the log, which are given under the lock of the numbering."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.merchants.public_profile import PublicProfile
from malipo.receipts.fact import Kind, Merchant

_encode = msgspec.json.Encoder(enc_hook=bytes.hex).encode

# The log that facts are appended to: the latest one, if it is of this epoch.
_CURRENT = """
    (SELECT number FROM receipt_logs
     WHERE number = (SELECT max(number) FROM receipt_logs) AND installation_epoch = (SELECT epoch FROM installation))
"""

_MERCHANT = "m.id, m.name, p.name AS shown_name, p.tin"


class Numbered(NamedTuple):
    """Events of a merchant that have just got their numbers."""

    merchant_id: str
    events: int


class Followed(NamedTuple):
    log: int | None  # the current one; None: there is none yet
    merchants: Mapping[str, Merchant]  # of those of which the log has everything before these events


class NewFact(msgspec.Struct, frozen=True):
    merchant_id: str
    transaction_id: str
    subject_id: str
    kind: Kind
    ordinal: int
    entry: str  # as hexadecimal digits, as the salt
    salt: str
    fact: str


async def follow(tx: Tx, numbered: Sequence[Numbered]) -> Followed:
    """Note that the log has these events too. It has them only of merchants of which it has all before."""
    rows = await tx.fetch(
        f"""
        WITH moved AS (
            UPDATE feeds f SET logged_to = f.last_number
            FROM unnest($1::text[], $2::bigint[]) AS n (merchant_id, events)
            WHERE f.merchant_id = n.merchant_id AND f.logged_to = f.last_number - n.events RETURNING f.merchant_id)
        SELECT {_MERCHANT}, {_CURRENT} AS log FROM moved JOIN merchants m ON m.id = moved.merchant_id
        LEFT JOIN public_profiles p ON p.merchant_id = m.id
        """,
        [each.merchant_id for each in numbered],
        [each.events for each in numbered],
    )
    return Followed(rows[0]["log"] if rows else None, {row["id"]: _merchant_of(row) for row in rows})


async def find_merchant(connection: Conn, merchant_id: str) -> Merchant:
    row = await connection.fetchrow(
        f"""
        SELECT {_MERCHANT} FROM merchants m LEFT JOIN public_profiles p ON p.merchant_id = m.id WHERE m.id = $1
        """,
        merchant_id,
    )
    assert row is not None
    return _merchant_of(row)


def _merchant_of(row: Row) -> Merchant:
    profile = PublicProfile(row["name"], row["shown_name"])
    return Merchant(row["id"], profile.shown_name, profile.other_name, row["tin"])


async def find_current_log(connection: Conn) -> int | None:
    number: int | None = await connection.fetchval(f"SELECT {_CURRENT}")
    return number


async def append(tx: Tx, log: int, facts: Sequence[NewFact]) -> int:
    """Append those that no log has yet, in their order. How many."""
    appended: int = await tx.fetchval(
        """
        WITH told AS (
            SELECT new.*, row_number() OVER (ORDER BY place) AS place_of_new
            FROM (SELECT t.*, row_number() OVER () AS place FROM json_to_recordset($2) AS t (
                      merchant_id text, transaction_id text, subject_id text, kind text, ordinal smallint, entry text,
                      salt text, fact text)) AS new
            WHERE NOT EXISTS (
                SELECT FROM receipt_facts f
                WHERE f.merchant_id = new.merchant_id AND f.transaction_id = new.transaction_id
                  AND f.subject_id = new.subject_id AND f.kind = new.kind AND f.ordinal = new.ordinal)),
        grown AS (
            UPDATE receipt_logs SET size = size + (SELECT count(*) FROM told) WHERE number = $1
            RETURNING size - (SELECT count(*) FROM told) AS size_before),
        written AS (
            INSERT INTO receipt_facts (merchant_id, transaction_id, subject_id, kind, ordinal, log_number, leaf_index,
                                       entry, salt, fact)
            SELECT t.merchant_id, t.transaction_id, t.subject_id, t.kind, t.ordinal, $1,
                   g.size_before + t.place_of_new - 1, decode(t.entry, 'hex'), decode(t.salt, 'hex'), t.fact
            FROM told t, grown g RETURNING 1)
        SELECT count(*) FROM written
        """,
        log,
        _encode(facts).decode(),
    )
    return appended


class Behind(NamedTuple):
    """How far the log is behind a merchant's feed."""

    merchant_id: str
    logged_to: int
    pruned_to: int
    last_number: int


async def find_behind(connection: Conn) -> list[str]:
    """Merchants of whose events the log lacks some."""
    rows = await connection.fetch("SELECT merchant_id FROM feeds WHERE logged_to < last_number ORDER BY merchant_id")
    return [row["merchant_id"] for row in rows]


async def lock_behind(tx: Tx, merchant_id: str) -> Behind | None:
    row = await tx.fetchrow(
        """
        SELECT merchant_id, logged_to, pruned_to, last_number FROM feeds
        WHERE merchant_id = $1 AND logged_to < last_number FOR UPDATE
        """,
        merchant_id,
    )
    return None if row is None else Behind(*row.values())


async def set_logged(tx: Tx, merchant_id: str, number: int) -> None:
    await tx.execute("UPDATE feeds SET logged_to = $2 WHERE merchant_id = $1", merchant_id, number)


class KeptEvent(NamedTuple):
    event: str
    body: str
    ordinal: int


async def find_events(tx: Tx, merchant_id: str, *, after: int, to: int, events: Sequence[str]) -> list[KeptEvent]:
    rows = await tx.fetch(
        """
        SELECT event, body, ordinal FROM events
        WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3 AND event = ANY($4) ORDER BY feed_number
        """,
        merchant_id,
        after,
        to,
        events,
    )
    return [KeptEvent(*row.values()) for row in rows]


class Place(NamedTuple):
    log: int
    leaf: int  # its index


class KeptFact(NamedTuple):
    """A fact of a receipt. Without salt and text it was erased."""

    subject_id: str
    kind: Kind
    ordinal: int
    place: Place
    entry: bytes
    salt: bytes | None
    fact: str | None


async def find(connection: Conn, merchant_id: str, transaction_id: str) -> list[KeptFact]:
    """Those of a receipt, in the order in which they became known."""
    rows = await connection.fetch(
        """
        SELECT subject_id, kind, ordinal, log_number, leaf_index, entry, salt, fact FROM receipt_facts
        WHERE merchant_id = $1 AND transaction_id = $2 ORDER BY log_number, leaf_index
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
    """The entries of leaves, in order. Fewer than asked for: some are missing. The first leaf is not among them."""
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
    """Delete what makes the entries of a receipt readable; of how many."""
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
    """Move what no published checkpoint of an earlier log covers to the end of this log; how many."""
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
    """A payment of which no event is kept that belongs into the log."""

    id: str
    is_completed: bool
    correction_count: int


async def find_old(tx: Tx, merchant_id: str, *, after: str, most: int) -> list[OldPayment]:
    """The next payments of a merchant, oldest first, with what their events do not say any more."""
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
