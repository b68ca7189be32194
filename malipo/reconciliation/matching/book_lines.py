"""Books the lines that are not payments: fees and sweeps; and pairs bank transfers with the operators' bookings.

A network's charge is an expense in any case, so fees are booked at once: one booking for each file and day. A sweep
goes through suspense, until the other account's statement has its other half. An operator could invent a file, so its
bookings count as moved by its importer (`import_approval.py`).
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

import msgspec

from malipo import ids, money
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Tx
from malipo.errors import ensure
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account, Move
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind
from malipo.network_statements.statement_line import LineKind
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.store import single_matches, summed_lines, transfers
from malipo.reconciliation.matching.store.summed_lines import ChargeSum
from malipo.reconciliation.matching.transfer_pairs import pair_transfers

KINDS: Mapping[str, tuple[HouseBookingKind, Account]] = {
    LineKind.FEE: (HouseBookingKind.NETWORK_FEE, Account.NETWORK_FEES),
    LineKind.SWEEP: (HouseBookingKind.SWEEP, Account.SUSPENSE),
}


class BookedSums(msgspec.Struct, frozen=True):
    """Sums in shillings, signed as in the statement."""

    fees: int
    sweeps: int
    transfers: int  # the number of paired transfers
    awaiting_approval: int = 0  # lines that wait for a second operator


async def book_lines(tx: Tx, *, approval_amount: int, first_open_day: date | None, now: datetime) -> BookedSums:
    """Book these lines. Above the approval amount, lines of a file that an operator brought wait for another operator.

    The caller has taken the lock of matching.
    """
    found = await summed_lines.sum_lines(tx)
    waiting, waiting_lines = await import_approval.set_bookings_waiting(
        tx, found, approval_amount=approval_amount, now=now
    )
    sums = [each for each in found if each.file_id not in waiting]
    await book_sums(tx, sums, first_open_day=first_open_day, now=now)
    booked_transfers = await transfers.find_transfers(tx)
    pairs = pair_transfers(await transfers.find_bank_lines(tx), booked_transfers)
    paired = {booking_id for _, booking_id in pairs}
    displaced = [each.line_id for each in booked_transfers if each.line_id is not None and each.booking_id in paired]
    if displaced:
        # These lines are in the queue again, and each becomes an exception.
        await single_matches.delete_matches(tx, displaced)
    return BookedSums(
        fees=sum(money.split_movement(each.cents)[0] for each in sums if each.kind == LineKind.FEE),
        sweeps=sum(money.split_movement(each.cents)[0] for each in sums if each.kind == LineKind.SWEEP),
        transfers=await transfers.match_transfers(tx, pairs, now=now),
        awaiting_approval=waiting_lines,
    )


async def book_sums(tx: Tx, sums: Sequence[ChargeSum], *, first_open_day: date | None, now: datetime) -> None:
    """Book the open lines of these files, and take them from the queue."""
    await write_sums(tx, sums, first_open_day=first_open_day, now=now)
    await summed_lines.close_summed(tx, [each.file_id for each in sums])


async def write_sums(tx: Tx, sums: Sequence[ChargeSum], *, first_open_day: date | None, now: datetime) -> None:
    """Book sums of lines. The caller takes the lines from the queue, if they are in it."""
    bookings = [_booking_of(each, first_open_day, now) for each in sums if each.cents]
    booked = await house_bookings.book(tx, bookings, now=now) if bookings else []
    ensure(len(booked) == len(bookings), "the fees and sweeps of a file and a day are booked once, all of them")


def move_of(lines: ChargeSum) -> tuple[Move, int]:
    """The move of a sum, and the cents beyond it."""
    _, other = KINDS[lines.kind]
    return house_bookings.move_of(lines.cents, other, lines.channel)


def _booking_of(lines: ChargeSum, first_open_day: date | None, now: datetime) -> HouseBooking:
    kind, _ = KINDS[lines.kind]
    move, cents = move_of(lines)
    return HouseBooking(
        id=ids.mint(house_bookings.ID_PREFIX, now),
        kind=kind,
        channel=lines.channel,
        account=lines.account,
        source=move.source,
        target=move.target,
        amount=move.amount,
        cents=cents,
        reference=lines.day.isoformat(),
        file_id=lines.file_id,
        value_date=house_bookings.value_date_of(lines.day, first_open_day=first_open_day),
        evidence="The statement's lines",
        booked_by=SYSTEM_NAME,
    )
