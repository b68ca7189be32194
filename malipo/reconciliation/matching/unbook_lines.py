"""Takes lines out of bookings again when their payments become known.

A line without a key is booked as a fee or a sweep by its words. Its payment may become known later: its network reports
the receipt, or another file has the key. Then the booking is reversed, its other lines are booked again, and the line
is matched, or becomes an exception if the match is not certain.

An operator could invent a file, so lines that a file takes out of bookings count as moved by its importer and the
authors of its layout. Above the approval amount the lines stay booked, and two operators may undo the booking.

Operators may have credited money of a sweep to a merchant before. The sweep is reversed all the same, so that the float
has the movement once: what the merchant has of it is missing in suspense then, until two operators take it back.
"""

from collections.abc import Sequence
from datetime import date, datetime
from itertools import groupby

from malipo.approvals import moved_alone
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import Deciders
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Tx
from malipo.ledger import house_bookings
from malipo.reconciliation.matching.book_lines import KINDS, write_sums
from malipo.reconciliation.matching.possible_payment import names_key
from malipo.reconciliation.matching.store import line_queue, lines_to_unbook
from malipo.reconciliation.matching.store.lines_to_unbook import BookedLine, LaterKeyLine

_WHY = "A payment of ours has this line"


async def unbook_lines(
    tx: Tx,
    *,
    layouts: Sequence[str],
    accounts: Sequence[str],
    approval_amount: int,
    first_open_day: date | None,
    now: datetime,
) -> list[BookedLine]:
    """Take lines out of bookings. Returns the lines, which are in the queue again. The caller has taken the lock of
    matching, and matches them next."""
    found = await lines_to_unbook.find_booked_of_payments(tx, layouts=layouts, accounts=accounts)
    later_lines = await lines_to_unbook.find_booked_with_later_keys(tx, layouts=layouts, accounts=accounts)
    later_lines = [each for each in later_lines if names_key(each.key)]
    lines: dict[int, BookedLine] = {
        each.line_id: each for each in [*(each for each in later_lines if each.is_fetched), *found]
    }
    brought = [each for each in later_lines if each.line_id not in lines]
    for each in await _count(tx, brought, approval_amount=approval_amount, now=now):
        lines.setdefault(each.line_id, each)
    for _, group in groupby(sorted(lines.values(), key=_sum_of), key=_sum_of):
        await _unbook(tx, list(group), first_open_day=first_open_day, now=now)
    return list(lines.values())


async def _count(
    tx: Tx, later_lines: Sequence[LaterKeyLine], *, approval_amount: int, now: datetime
) -> list[LaterKeyLine]:
    """Count the lines as moved by their operators, file by file, and return those that an operator may move alone."""

    def file_of(line: LaterKeyLine) -> str:
        return line.key_file_id

    counted = []
    for file_id, group in groupby(sorted(later_lines, key=file_of), key=file_of):
        lines = list(group)
        deciders = await moved_alone.count_unless_two(
            tx,
            Act.IMPORT,
            sum(abs(each.amount) for each in lines),
            operator=lines[0].key_imported_by,
            authors=lines[0].authors,
            subject=file_id,
            approval_amount=approval_amount,
            now=now,
        )
        if deciders is Deciders.ONE:
            counted += lines
    return counted


def _sum_of(line: BookedLine) -> tuple[str, str, str, date]:
    return line.file_id, line.account, line.kind, line.day


async def _unbook(tx: Tx, lines: Sequence[BookedLine], *, first_open_day: date | None, now: datetime) -> None:
    """Take these lines out of their booking: all of them are of one sum."""
    kind, _ = KINDS[lines[0].kind]
    booking_id = await lines_to_unbook.find_booking_of(tx, lines[0], kind=kind)
    if booking_id is not None:
        await house_bookings.undo(
            tx,
            booking_id,
            evidence=_WHY,
            booked_by=SYSTEM_NAME,
            first_open_day=first_open_day,
            even_if_released=True,
            now=now,
        )
    line_ids = [each.line_id for each in lines]
    rest = await lines_to_unbook.sum_booked(tx, lines[0], without=line_ids)
    if rest is not None:
        await write_sums(tx, [rest], first_open_day=first_open_day, now=now)
    await line_queue.reopen_lines(tx, line_ids)
    await audit_log.append(
        tx,
        Actor(SYSTEM_NAME, "matching"),
        "statement.lines_unbooked",
        now=now,
        file=lines[0].file_id,
        booking=booking_id,
        receipts=[each.receipt for each in lines],
    )
