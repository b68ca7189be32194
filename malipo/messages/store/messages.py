"""The SQL of messages: written, claimed by a worker, and ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from malipo import ids
from malipo.db import Conn, Row, Tx
from malipo.messages.kinds import KINDS, PASSWORD_LINK_KINDS, MessageKind
from malipo.messages.message import Facts, Message, MessageRecipient
from malipo.restore.store import send_counts
from malipo.restore.store.installation import EPOCH, IS_FENCED

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Facts).decode

# Messages of before a restore wait until operators have released the installation: some were sent in the lost time, and
# what others report may never have happened.
MAY_BE_SENT = f"(epoch = {EPOCH} OR NOT {IS_FENCED})"

# A message with the number of a document waits for the mark of a worker, as the document does: after a restore the
# number would be given again. (It reads the table of `invoices`, a room above.)
_IS_NOTICED = f"""
    NOT (kind = '{MessageKind.INVOICE_ISSUED}' AND EXISTS (
        SELECT FROM invoices i WHERE i.number = cause AND i.looks IS NOT NULL
                                 AND NOT {send_counts.is_marked_since("i.looks")}))
"""

_INSERT = f"""
    INSERT INTO messages AS m (id, kind, merchant_id, account_id, address, name, language, facts, cause, is_grouped,
                               count, amount, epoch, created_at, due_at, expires_at)
    SELECT id, $1, $2, account_id, address, name, language, $3::json, $4, $5, $6, $7, {EPOCH}, $8, $9, $10
    FROM unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
         AS r (id, account_id, address, name, language)
    ORDER BY account_id
"""
# One that has expired unsent, because no worker sends, begins anew.
_GATHER = """
    ON CONFLICT (kind, account_id) WHERE is_grouped AND state = 'waiting' AND message_id IS NULL DO UPDATE SET
        count = excluded.count + CASE WHEN m.expires_at > excluded.created_at THEN m.count ELSE 0 END,
        amount = excluded.amount + CASE WHEN m.expires_at > excluded.created_at THEN m.amount ELSE 0 END,
        due_at = CASE WHEN m.expires_at > excluded.created_at THEN m.due_at ELSE excluded.due_at END,
        created_at = CASE WHEN m.expires_at > excluded.created_at THEN m.created_at ELSE excluded.created_at END,
        facts = excluded.facts, expires_at = excluded.expires_at
"""


async def insert(
    tx: Tx,
    kind: MessageKind,
    merchant_id: str | None,
    recipients: Sequence[MessageRecipient],
    facts: Mapping[str, str | int],
    *,
    now: datetime,
    cause: str | None = None,
    count: int = 1,
    amount: int = 0,
) -> None:
    """Write a message to each recipient. Each gets one message of a cause."""
    if not recipients:
        return
    rule = KINDS[kind]
    await tx.execute(
        _INSERT + (_GATHER if rule.gathers is not None else "ON CONFLICT (kind, cause, address) DO NOTHING"),
        kind,
        merchant_id,
        _encode(facts).decode(),
        cause,
        rule.gathers is not None,
        count,
        amount,
        now,
        now if rule.gathers is None else now + rule.gathers,
        now + rule.life,
        [ids.mint("msg_", now) for _ in recipients],
        [each.account_id for each in recipients],
        [each.address for each in recipients],
        [each.name for each in recipients],
        [each.language for each in recipients],
    )


async def claim(tx: Tx, *, domain: str, most: int, now: datetime, until: datetime) -> list[Message]:
    """Claim the messages that are due, until a time from which other workers may claim them again. Each gets its
    Message-ID with its first claim. Kinds that a newer version has written are left to it."""
    rows = await tx.fetch(
        f"""
        UPDATE messages SET due_at = $3, message_id = coalesce(message_id, id || '@' || $1)
        WHERE id IN (SELECT id FROM messages WHERE state = 'waiting' AND due_at <= $2 AND kind = ANY($5::text[])
                       AND {MAY_BE_SENT} AND {_IS_NOTICED}
                     ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
        RETURNING id, kind, merchant_id, account_id, address, name, language, facts, count, amount, created_at,
                  expires_at, message_id, attempts
        """,
        domain,
        now,
        until,
        most,
        list(KINDS),
    )
    return sorted((_message(row) for row in rows), key=lambda each: each.id)


async def end(tx: Tx, message_id: str, state: str, *, now: datetime, reply: str | None) -> None:
    """End one that waits: `sent`, `refused`, `expired` or `dropped`."""
    await tx.execute(
        "UPDATE messages SET state = $2, ended_at = $3, reply = $4 WHERE id = $1 AND state = 'waiting'",
        message_id,
        state,
        now,
        reply,
    )


async def postpone(tx: Tx, message_ids: Sequence[str], *, due_at: datetime, reply: str, is_attempt: bool) -> None:
    """Send them again later. An attempt is an answer about the message; a server that is away has given none."""
    await tx.execute(
        """
        UPDATE messages SET due_at = $2, reply = $3, attempts = attempts + $4
        WHERE id = ANY($1::text[]) AND state = 'waiting'
        """,
        list(message_ids),
        due_at,
        reply,
        int(is_attempt),
    )


async def expire(tx: Tx, *, now: datetime, most: int) -> int:
    """End those that would be out of date. Returns how many."""
    done = await tx.execute(
        """
        UPDATE messages SET state = 'expired', ended_at = $1
        WHERE id IN (SELECT id FROM messages WHERE state = 'waiting' AND due_at <= $1 AND expires_at <= $1
                     ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
        """,
        now,
        most,
    )
    return int(done.removeprefix("UPDATE "))


async def drop_links(tx: Tx, about: Sequence[str], *, now: datetime) -> None:
    """End waiting messages with a link that are to one of these accounts, or whose maker is one of these: an account, a
    session, or an operator by name."""
    await tx.execute(
        """
        UPDATE messages SET state = 'dropped', ended_at = $3
        WHERE id IN (SELECT id FROM messages
                     WHERE state = 'waiting' AND kind = ANY($2::text[])
                       AND (account_id = ANY($1::text[]) OR facts ->> 'maker_person' = ANY($1)
                            OR facts ->> 'maker_session' = ANY($1) OR facts ->> 'maker_operator' = ANY($1))
                     ORDER BY id FOR UPDATE)
        """,
        list(about),
        PASSWORD_LINK_KINDS,
        now,
    )


class Notices(NamedTuple):
    """How many messages of one cause there are, and how many the mail server has taken."""

    written: int
    sent: int


async def count_notices(connection: Conn, kind: MessageKind, cause: str) -> Notices:
    row = await connection.fetchrow(
        """
        SELECT count(*) AS written, count(*) FILTER (WHERE state = 'sent') AS sent
        FROM messages WHERE kind = $1 AND cause = $2
        """,
        kind,
        cause,
    )
    assert row is not None
    return Notices(row["written"], row["sent"])


class QueuedMessage(NamedTuple):
    id: str
    kind: str
    address: str
    state: str
    created_at: datetime
    due_at: datetime | None  # None: it has ended
    attempts: int
    reply: str | None


async def find_queue(connection: Conn, *, refused_since: datetime, most: int) -> list[QueuedMessage]:
    """Those that wait, and those that were refused since a time; the oldest first."""
    rows = await connection.fetch(
        """
        SELECT id, kind, address, state, created_at, CASE WHEN state = 'waiting' THEN due_at END, attempts, reply
        FROM (SELECT * FROM messages WHERE state = 'waiting'
              UNION ALL SELECT * FROM messages WHERE state = 'refused' AND ended_at > $1) queued
        ORDER BY created_at, id LIMIT $2
        """,
        refused_since,
        most,
    )
    return [QueuedMessage(*row.values()) for row in rows]


async def lock_waiting(tx: Tx, message_id: str) -> bool:
    """Lock a message until the commit. Returns whether it still waits."""
    state = await tx.fetchval("SELECT state FROM messages WHERE id = $1 FOR UPDATE", message_id)
    return bool(state == "waiting")


async def count_links(tx: Tx, address: str, merchant_id: str, *, since: datetime) -> tuple[int, int]:
    """How many messages with a link were written since a time: to an address by whomever, and by a merchant to anybody.
    Locked against concurrent callers."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"links by e-mail {merchant_id}")
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"links by e-mail to {address}")
    row = await tx.fetchrow(
        """
        SELECT count(*) FILTER (WHERE address = $1) AS to_address,
               count(*) FILTER (WHERE merchant_id = $2) AS of_merchant
        FROM messages WHERE kind = ANY($3::text[]) AND created_at > $4 AND (address = $1 OR merchant_id = $2)
        """,
        address,
        merchant_id,
        PASSWORD_LINK_KINDS,
        since,
    )
    assert row is not None
    return row["to_address"], row["of_merchant"]


async def prune(tx: Tx, *, before: datetime, most: int) -> int:
    """Delete those that ended before a time, those that expired then although no worker sends, and owners of long ago.
    Returns how many."""
    ended = await tx.execute(
        """
        DELETE FROM messages WHERE ctid = ANY(ARRAY(
            (SELECT ctid FROM messages WHERE ended_at < $1 LIMIT $2)
            UNION ALL (SELECT ctid FROM messages WHERE state = 'waiting' AND due_at < $1 AND expires_at < $1 LIMIT $2)))
        """,
        before,
        most,
    )
    former = await tx.execute("DELETE FROM former_owners WHERE until < $1", before)
    return int(ended.removeprefix("DELETE ")) + int(former.removeprefix("DELETE "))


def _message(row: Row) -> Message:
    return Message(
        row["id"],
        row["kind"],
        row["merchant_id"],
        MessageRecipient(row["account_id"], row["address"], row["name"], row["language"]),
        _decode(row["facts"]),
        row["count"],
        row["amount"],
        row["created_at"],
        row["expires_at"],
        row["message_id"],
        row["attempts"],
    )
