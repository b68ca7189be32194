"""Counts prompts of pay pages by number, link and address. Times are the database's."""

from collections import Counter
from collections.abc import Collection, Iterable

from malipo.db import Row, Tx
from malipo.links.prompt_limits import DAY, HOUR, LIMITS, LOOKED_AT, Counted, LimitedSubject, counts_as
from malipo.links.store.attempts import NOT_ASKED, PROMPTED_AT, WITH_QUEUE
from malipo.payments.transaction import Status

Tally = Counter[tuple[str, LimitedSubject, Counted]]
_HOUR, _DAY = HOUR.total_seconds(), DAY.total_seconds()
# How far back prompts of each kind count.
_SPANS = {(each.subject, each.counted): each.span.total_seconds() for each in LIMITS}


async def lock_numbers(tx: Tx, numbers: Collection[str]) -> None:
    """Lock these numbers until the commit, so that presses with one number wait for each other. In sorted order, so
    that there is no deadlock."""
    await tx.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('prompt ' || number, 0)) FROM unnest($1::text[]) number",
        sorted(numbers),
    )


async def count_of_numbers(tx: Tx, numbers: Collection[str]) -> Tally:
    """A prompt counts from the press on, and its age is the time since it was sent, because a network that was down
    gets it long after the press."""
    rows = await tx.fetch(
        f"""
        SELECT a.phone AS who, t.status, t.failure_code,
               CASE WHEN t.ended_at IS NULL AND {NOT_ASKED} THEN 0 ELSE extract(
                   epoch FROM clock_timestamp() - {PROMPTED_AT})::float8 END AS age
        FROM link_attempts a JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        {WITH_QUEUE}
        WHERE a.phone = ANY($1::text[]) AND a.pressed_at > clock_timestamp() - $2 * interval '1 second'
          AND t.status NOT IN ('COMPLETED', 'CANCELLED')
        """,
        list(numbers),
        2 * _DAY,  # what cannot be sent lapses within a day
    )
    return _tally(LimitedSubject.NUMBER, rows)


async def count_of_links(tx: Tx, links: Collection[tuple[str, str]]) -> Tally:
    rows = await tx.fetch(
        """
        SELECT latest.link_id AS who, latest.status, latest.failure_code, 0::float8 AS age
        FROM unnest($1::text[], $2::text[]) AS requested (merchant_id, link_id)
        CROSS JOIN LATERAL (
            SELECT a.link_id, t.status, t.failure_code
            FROM link_attempts a JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
            WHERE a.merchant_id = requested.merchant_id AND a.link_id = requested.link_id
              AND a.pressed_at > clock_timestamp() - $3 * interval '1 second'
            ORDER BY a.pressed_at DESC LIMIT $4) latest
        """,
        [merchant_id for merchant_id, _ in links],
        [link_id for _, link_id in links],
        _HOUR,
        LOOKED_AT,
    )
    return _tally(LimitedSubject.LINK, rows)


async def count_of_addresses(tx: Tx, addresses: Collection[str]) -> Tally:
    rows = await tx.fetch(
        """
        SELECT requested.address AS who, latest.status, latest.failure_code, 0::float8 AS age
        FROM unnest($1::text[]) AS requested (address)
        CROSS JOIN LATERAL (
            SELECT t.status, t.failure_code
            FROM link_attempts a JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
            WHERE a.address = requested.address AND a.pressed_at > clock_timestamp() - $2 * interval '1 second'
            ORDER BY a.pressed_at DESC LIMIT $3) latest
        """,
        list(addresses),
        _HOUR,
        LOOKED_AT,
    )
    return _tally(LimitedSubject.ADDRESS, rows)


def _tally(subject: LimitedSubject, rows: Iterable[Row]) -> Tally:
    found: Tally = Counter()
    for row in rows:
        for counted in counts_as(Status(row["status"]), row["failure_code"]):
            if row["age"] <= _SPANS.get((subject, counted), -1.0):
                found[row["who"], subject, counted] += 1
    return found
