"""Attempts of customers to pay links. The outcome of an attempt is that of its payment."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Row, Tx
from malipo.links.link import Late, Link
from malipo.links.store.links import IS_PAID, PAID_AT, Key
from malipo.links.store.lost_attempts import ADOPTED
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.store.transactions import Key as PaymentKey
from malipo.payments.transaction import Transaction

# A payment with its row in the work queue, if it has one: whether nothing that was sent can have reached the network,
# as before the first send and when its network could not be reached, so that no phone asks; and since when a phone can
# have asked. A second send may begin another prompt.
IS_UNSENT = "coalesce(d.send_count = 0 AND d.success_heard_at IS NULL AND NOT d.is_asked_first, false)"
PROMPTED_AT = "greatest(a.pressed_at, t.processing_at, d.sent_at)"
NOT_ASKED = f"(t.status = 'PENDING' OR {IS_UNSENT})"
WITH_QUEUE = "LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id"


class OpenAttempt(NamedTuple):
    """An attempt whose payment has not ended."""

    link: Key
    phone: str
    transaction_id: str
    prompt_seconds: float | None  # how long the prompt may still be answered; None: no phone asks yet

    @property
    def is_doubtful(self) -> bool:
        """The prompt has ended, and it is unknown whether the customer has paid."""
        return self.prompt_seconds is not None and self.prompt_seconds <= 0


class AdoptedAttempt(NamedTuple):
    """An attempt that a restore has lost, whose payment operators have adopted, and that no press has found since."""

    transaction_id: str
    amount: int

    def is_of(self, link: Link, typed_amount: int | None) -> bool:
        """Whether a press with this amount asks for it again."""
        return self.amount == (typed_amount if link.amount is None else link.amount)


class NumbersAttempts(NamedTuple):
    """The attempts of one number at a link."""

    last_ordinal: int  # 0: there is none
    of_press: str | None  # the payment that an earlier try of this press has made
    adopted: Sequence[AdoptedAttempt] = ()
    has_undone: bool = False  # an adoption was undone, and operators have not decided again whose payment it is


class NewAttempt(NamedTuple):
    link: Key
    phone: str
    ordinal: int
    transaction_id: str
    press_id: str | None
    address: str | None


class EndedAttempt(NamedTuple):
    """An attempt to count: as it was last counted, and as it is now."""

    transaction_id: str
    amount: int
    was_paid: bool
    late: Late | None
    is_paid: bool
    paid_at: datetime | None


async def find_open(
    tx: Tx, links: Sequence[Key], phones: Sequence[str], *, prompt_seconds: int
) -> dict[Key, list[OpenAttempt]]:
    """The open attempts of these links. For a link that may be paid any number of times, only those of these
    numbers."""
    rows = await tx.fetch(
        f"""
        SELECT a.merchant_id, a.link_id, a.phone, a.transaction_id,
               CASE WHEN NOT {NOT_ASKED} THEN extract(
                   epoch FROM {PROMPTED_AT} - clock_timestamp())::float8 + $4 END AS prompt_seconds
        FROM links l
        JOIN link_attempts a ON a.merchant_id = l.merchant_id AND a.link_id = l.id AND NOT a.is_counted
        JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id AND t.ended_at IS NULL
        {WITH_QUEUE}
        WHERE (l.merchant_id, l.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
          AND (NOT l.is_reusable OR l.max_payments IS NOT NULL OR a.phone = ANY($3::text[]))
        """,
        [merchant_id for merchant_id, _ in links],
        [id_ for _, id_ in links],
        list(phones),
        float(prompt_seconds),
    )
    found: dict[Key, list[OpenAttempt]] = {}
    for row in rows:
        key = (row["merchant_id"], row["link_id"])
        found.setdefault(key, []).append(OpenAttempt(key, row["phone"], row["transaction_id"], row["prompt_seconds"]))
    return found


async def find_of_numbers(tx: Tx, wanted: Sequence[tuple[Key, str, str | None, str]]) -> list[NumbersAttempts]:
    """The attempts of each number at a link, and the payment of this press if it was made before: by an earlier request
    with the page's press id, or by an earlier try of this commit, which has the payment's id."""
    rows = await tx.fetch(
        f"""
        SELECT requested.number, coalesce(max(a.ordinal), 0) AS last_ordinal,
               max(a.transaction_id) FILTER (
                   WHERE a.press_id IN (requested.press_id, '{ADOPTED}' || requested.press_id)
                      OR a.transaction_id = requested.transaction_id) AS of_press,
               array_agg(t.id ORDER BY t.id)
                   FILTER (WHERE a.press_id = '{ADOPTED}' AND o.undone_at IS NULL) AS adopted,
               array_agg(t.amount ORDER BY t.id)
                   FILTER (WHERE a.press_id = '{ADOPTED}' AND o.undone_at IS NULL) AS amounts,
               coalesce(bool_or(o.undone_at IS NOT NULL AND t.network_key <> t.id), false) AS has_undone
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
             WITH ORDINALITY AS requested (merchant_id, link_id, phone, press_id, transaction_id, number)
        LEFT JOIN link_attempts a
               ON a.merchant_id = requested.merchant_id AND a.link_id = requested.link_id AND a.phone = requested.phone
        LEFT JOIN adopted_payments o
               ON starts_with(a.press_id, '{ADOPTED}') AND o.merchant_id = a.merchant_id
              AND o.transaction_id = a.transaction_id
        LEFT JOIN transactions t ON t.merchant_id = o.merchant_id AND t.id = o.transaction_id
        GROUP BY requested.number ORDER BY requested.number
        """,
        [link[0] for link, _, _, _ in wanted],
        [link[1] for link, _, _, _ in wanted],
        [phone for _, phone, _, _ in wanted],
        [press_id for _, _, press_id, _ in wanted],
        [transaction_id for _, _, _, transaction_id in wanted],
    )
    return [
        NumbersAttempts(
            row["last_ordinal"],
            row["of_press"],
            tuple(map(AdoptedAttempt, row["adopted"] or (), row["amounts"] or ())),
            row["has_undone"],
        )
        for row in rows
    ]


async def insert(tx: Tx, attempts: Sequence[NewAttempt]) -> None:
    await tx.execute(
        """
        INSERT INTO link_attempts (merchant_id, link_id, phone, ordinal, transaction_id, press_id, address, pressed_at)
        SELECT *, clock_timestamp()
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[])
        """,
        [each.link[0] for each in attempts],
        [each.link[1] for each in attempts],
        [each.phone for each in attempts],
        [each.ordinal for each in attempts],
        [each.transaction_id for each in attempts],
        [each.press_id for each in attempts],
        [each.address for each in attempts],
    )


async def find(connection: Conn, link: Key, transaction_id: str) -> Transaction | None:
    """The payment of an attempt of this link; None if the link has no such attempt."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM link_attempts a
        JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        WHERE a.merchant_id = $1 AND a.link_id = $2 AND a.transaction_id = $3
        """,
        *link,
        transaction_id,
    )
    return None if row is None else transaction_of(row)


async def find_latest(connection: Conn, link: Key, *, limit: int) -> list[Transaction]:
    """The payments of the latest attempts, the newest first."""
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM link_attempts a
        JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        WHERE a.merchant_id = $1 AND a.link_id = $2 ORDER BY t.id DESC LIMIT $3
        """,
        *link,
        limit,
    )
    return [transaction_of(row) for row in rows]


async def name_link(tx: Tx, link: Key, transaction_id: str) -> None:
    """Write the link into an adopted payment, which is that of a lost attempt of this link."""
    await tx.execute(
        "UPDATE transactions SET link_id = $3 WHERE merchant_id = $1 AND id = $2 AND link_id IS NULL",
        link[0],
        transaction_id,
        link[1],
    )


async def lock_links_to_count(tx: Tx, *, most: int) -> list[Key]:
    """Lock links that have attempts to count, without those that are locked by a press: the next look finds them."""
    rows = await tx.fetch(
        """
        SELECT l.merchant_id, l.id FROM links l
        WHERE (l.merchant_id, l.id) IN (
            SELECT a.merchant_id, a.link_id FROM link_attempts a
            JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
            WHERE NOT a.is_counted AND t.ended_at IS NOT NULL
            ORDER BY a.merchant_id, a.link_id LIMIT $1)
        ORDER BY l.merchant_id, l.id FOR UPDATE SKIP LOCKED
        """,
        most,
    )
    return [(row["merchant_id"], row["id"]) for row in rows]


async def lock_links_of(tx: Tx, payments: Collection[PaymentKey]) -> list[Key]:
    """Lock the links of these payments that have attempts to count. It waits for presses, because a link that is
    pressed all the time would never be free."""
    rows = await tx.fetch(
        """
        SELECT l.merchant_id, l.id FROM links l
        WHERE (l.merchant_id, l.id) IN (
            SELECT a.merchant_id, a.link_id FROM unnest($1::text[], $2::text[]) AS ended (merchant_id, transaction_id)
            JOIN link_attempts a USING (merchant_id, transaction_id) WHERE NOT a.is_counted)
        ORDER BY l.merchant_id, l.id FOR UPDATE
        """,
        [merchant_id for merchant_id, _ in payments],
        [id_ for _, id_ in payments],
    )
    return [(row["merchant_id"], row["id"]) for row in rows]


async def lock_uncounted(tx: Tx, link: Key, only: Collection[str] | None = None) -> list[str]:
    """Lock the uncounted attempts of a link, or those of these payments. A correction after this waits for the commit,
    and makes its attempt uncounted again."""
    rows = await tx.fetch(
        """
        SELECT a.transaction_id FROM link_attempts a
        WHERE a.merchant_id = $1 AND a.link_id = $2 AND NOT a.is_counted
          AND ($3::text[] IS NULL OR a.transaction_id = ANY($3))
        ORDER BY a.transaction_id FOR UPDATE
        """,
        *link,
        None if only is None else list(only),
    )
    return [row["transaction_id"] for row in rows]


async def find_ended(tx: Tx, link: Key, transaction_ids: Sequence[str]) -> list[EndedAttempt]:
    """The attempts whose payments have ended, in the order in which they were paid."""
    rows = await tx.fetch(
        f"""
        SELECT a.transaction_id, t.amount, a.is_paid AS was_paid, a.late, {IS_PAID} AS is_paid, {PAID_AT} AS paid_at
        FROM link_attempts a JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = a.merchant_id AND c.transaction_id = a.transaction_id
        WHERE a.merchant_id = $1 AND a.link_id = $2 AND a.transaction_id = ANY($3::text[]) AND t.ended_at IS NOT NULL
        ORDER BY {PAID_AT}, a.transaction_id
        """,
        *link,
        list(transaction_ids),
    )
    return [_ended_of(row) for row in rows]


def _ended_of(row: Row) -> EndedAttempt:
    return EndedAttempt(
        row["transaction_id"],
        row["amount"],
        row["was_paid"],
        None if row["late"] is None else Late(row["late"]),
        row["is_paid"],
        row["paid_at"] if row["is_paid"] else None,
    )


async def write_counted(tx: Tx, link: Key, counted: Sequence[EndedAttempt]) -> None:
    await tx.execute(
        """
        UPDATE link_attempts a SET is_counted = true, is_paid = new.is_paid, late = new.late
        FROM unnest($2::text[], $3::boolean[], $4::text[]) AS new (transaction_id, is_paid, late)
        WHERE a.merchant_id = $1 AND a.transaction_id = new.transaction_id
        """,
        link[0],
        [each.transaction_id for each in counted],
        [each.is_paid for each in counted],
        [each.late for each in counted],
    )
