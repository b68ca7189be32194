"""Top-ups, settlements, bank transfers and other money at the bank that operators request. Above the approval amount
one is only proposed until another operator approves it, so that no operator alone can book any sum.

Each step is one commit with its entry in the audit log.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from malipo import ids
from malipo.approvals import decide, moved_alone
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import BOOKINGS, Act
from malipo.approvals.moved_alone import Deciders
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict, Missing, Refusal, ensure
from malipo.ledger import bank_bookings, bookings, house_bookings, transfers
from malipo.ledger.accounts import Account
from malipo.ledger.bank_bookings import BankBooking, BankBookingKind
from malipo.ledger.bookings import Booking, BookingRefusal, ReferenceReused
from malipo.ledger.store import bookings as stored_bookings
from malipo.ledger.transfers import Transfer

AnyBooking = Booking | Transfer | BankBooking

# A transfer becomes a house booking, and has the id of one; so do interest, charges and the like.
ID_PREFIXES = (bookings.ID_PREFIX, house_bookings.ID_PREFIX)


class BookingTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of a proposal of a booking; its amount is stored beside them."""

    kind: str
    bank_reference: str
    merchant_id: str | None = None  # None: a transfer of the house
    channel: str | None = None  # of a transfer
    account: str | None = None
    releases: str | None = None  # of money in suspense: the house booking that it is taken from
    is_back: bool = False  # of money of the house at its bank
    day: date | None = None  # the same


class ProposedBooking(BookingTerms, frozen=True, kw_only=True):
    """A booking that waits, or waited, for a second operator."""

    id: str  # also of the booking, once it is approved
    amount: int
    requested_by: str
    requested_at: datetime

    @property
    def booking(self) -> AnyBooking:
        if self.merchant_id is not None:
            kind = bookings.BookingKind(self.kind)
            return Booking(kind, self.merchant_id, self.amount, self.bank_reference, self.releases)
        assert self.channel is not None
        assert self.account is not None
        if self.kind in list(BankBookingKind):
            return BankBooking(
                BankBookingKind(self.kind),
                self.amount,
                self.bank_reference,
                is_back=self.is_back,
                day=self.day,
                channel=self.channel,
                account=self.account,
            )
        return Transfer(transfers.TransferKind(self.kind), self.channel, self.account, self.amount, self.bank_reference)


@dataclass(frozen=True, slots=True)
class BookingResult:
    is_new: bool  # False: the same booking was made or proposed before, and nothing has changed
    proposal: ProposedBooking | None  # while it waits for another operator


class BookingApprovalRefusal(Code):
    NOT_PROPOSED = "booking_not_proposed"
    SEVERAL = "booking_several_proposed"
    APPROVED = "booking_approved"
    REJECTED = "booking_rejected"


class NotOpen(Conflict):
    """The proposal was decided already."""


class NotProposed(Missing):
    def __init__(self, name: str) -> None:
        super().__init__(code=BookingApprovalRefusal.NOT_PROPOSED, name=name)


class SeveralProposed(Refusal):
    """Several proposals have this reference."""


async def request(
    tx: Tx,
    booking: AnyBooking,
    *,
    approval_amount: int,
    actor: Actor,
    now: datetime,
    is_single_operator: bool = False,
) -> BookingResult:
    """Book it, or propose it if it is more than one operator may book. A repeated request makes no second booking."""
    await moved_alone.lock(tx, actor.name)
    # A bank reference belongs to one transfer, in whichever direction.
    lock_kind = "transfer" if isinstance(booking, Transfer) else booking.kind
    await stored_bookings.lock_reference(tx, lock_kind, booking.bank_reference)
    if (earlier := await _find_proposed(tx, booking)) is not None:
        return BookingResult(is_new=False, proposal=earlier)
    if await _is_booked(tx, booking):
        return BookingResult(is_new=False, proposal=None)
    if isinstance(booking, BankBooking):
        await bank_bookings.require_bookable(tx, booking, now=now)
    deciders = await moved_alone.count_unless_two(
        tx,
        act_of(booking),
        booking.amount,
        operator=actor.name,
        subject=booking.bank_reference,
        approval_amount=approval_amount,
        now=now,
        is_single_operator=is_single_operator,
    )
    if deciders is Deciders.TWO:
        return BookingResult(is_new=True, proposal=await _propose(tx, booking, actor=actor, now=now))
    ensure(await _book(tx, booking, actor=actor, now=now), "the booking is locked, and was not booked")
    details = _details(booking) | audit_log.alone(deciders is Deciders.SINGLE_OPERATOR)
    await audit_log.append(tx, actor, action_of(booking.kind), now=now, **details)
    return BookingResult(is_new=True, proposal=None)


async def approve(
    tx: Tx,
    id_or_reference: str,
    *,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
    is_single_operator: bool = False,
) -> ProposedBooking:
    """Approve and book another operator's proposal. `seen` is the code of the facts that the approver was shown."""
    found = await lock_open(tx, id_or_reference)
    decided = await decide.approve(tx, found, actor=actor, now=now, seen=seen, is_single_operator=is_single_operator)
    proposed = proposed_booking(found)
    by, second = found.requested_by, None if decided.is_single_operator else actor.name
    match proposed.booking:
        case Booking() as booking:
            await bookings.book_proposed(tx, found.id, booking, now=now)
        case BankBooking() as booking:
            await bank_bookings.book_proposed(tx, found.id, booking, requested_by=by, approved_by=second, now=now)
        case transfer:
            await transfers.book_proposed(tx, found.id, transfer, requested_by=by, approved_by=second, now=now)
    details = _details(proposed) | {"booking": found.id, "proposed_by": found.requested_by}
    details |= audit_log.alone(decided.is_single_operator)
    await audit_log.append(tx, actor, action_of(proposed.kind), now=now, **details)
    return proposed


async def reject(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> ProposedBooking:
    """Reject a proposal, or withdraw one's own. The same booking can then be proposed again."""
    found = await lock_open(tx, id_or_reference)
    proposed = proposed_booking(found)
    details = _details(proposed) | {"booking": found.id}
    await decide.reject(tx, found, f"{action_of(proposed.kind)}_rejected", details, actor=actor, now=now)
    return proposed


async def find_open(connection: Conn) -> list[ProposedBooking]:
    """The open proposals of bookings, oldest first."""
    return [proposed_booking(each) for each in await proposals.find_open(connection, BOOKINGS)]


def act_of(booking: AnyBooking) -> Act:
    match booking:
        case Transfer():
            return Act.TRANSFER
        case BankBooking():
            return Act.BOOK_EQUITY if bank_bookings.KINDS[booking.kind][0] is Account.EQUITY else Act.BOOK_AT_BANK
    return Act(booking.kind)


def action_of(kind: str) -> str:
    """The action in the audit log for this kind of booking."""
    if kind in list(BankBookingKind):
        return "books.booking"
    return f"float.{kind}" if kind in list(transfers.TransferKind) else f"wallet.{kind}"


async def _find_proposed(tx: Tx, booking: AnyBooking) -> ProposedBooking | None:
    """The open proposal of this booking, if there is one. The same reference for another booking is a conflict."""
    for each in await proposals.lock_open(tx, [act_of(booking)], booking.bank_reference):
        if proposed_booking(each).booking != booking:
            raise ReferenceReused(code=BookingRefusal.PROPOSED_OTHERWISE, reference=booking.bank_reference)
        return proposed_booking(each)
    return None


async def _is_booked(tx: Tx, booking: AnyBooking) -> bool:
    match booking:
        case Transfer():
            return await transfers.is_booked(tx, booking)
        case BankBooking():
            return await bank_bookings.is_booked(tx, booking)
    return await bookings.is_booked(tx, booking)


async def _book(tx: Tx, booking: AnyBooking, *, actor: Actor, now: datetime) -> bool:
    match booking:
        case Transfer():
            return await transfers.book(tx, booking, booked_by=actor.name, now=now)
        case BankBooking():
            return await bank_bookings.book(tx, booking, booked_by=actor.name, now=now)
    return await bookings.book(
        tx, booking.kind, booking.merchant_id, booking.amount, reference=booking.bank_reference, now=now
    )


async def _propose(tx: Tx, booking: AnyBooking, *, actor: Actor, now: datetime) -> ProposedBooking:
    prefix = house_bookings.ID_PREFIX
    if isinstance(booking, Booking):
        prefix = bookings.ID_PREFIX
        await bookings.require_funds(tx, booking)
    terms = BookingTerms(
        kind=booking.kind,
        bank_reference=booking.bank_reference,
        merchant_id=booking.merchant_id,
        channel=booking.channel,
        account=booking.account,
    )
    if isinstance(booking, Booking):
        terms = replace(terms, releases=booking.releases)
    if isinstance(booking, BankBooking):
        terms = replace(terms, is_back=booking.is_back, day=booking.day)
    proposal = Proposal(
        id=ids.mint(prefix, now),
        action=act_of(booking),
        subject=booking.bank_reference,
        amount=booking.amount,
        terms=decide.encode(terms),
        requested_by=actor.name,
        requested_at=now,
    )
    details = _details(booking) | {"booking": proposal.id}
    await decide.propose(tx, proposal, f"{action_of(booking.kind)}_proposed", details, actor=actor)
    return proposed_booking(proposal)


def proposed_booking(proposal: Proposal) -> ProposedBooking:
    return ProposedBooking(
        id=proposal.id,
        amount=proposal.amount,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        **msgspec.structs.asdict(proposal.terms_as(BookingTerms)),
    )


async def lock_open(tx: Tx, id_or_reference: str) -> Proposal:
    """Lock the open proposal with this id or bank reference until the commit. A text that begins like an id is read as
    an id, so that no bank's reference is taken for one."""
    is_id = id_or_reference.startswith(ID_PREFIXES)
    lock, find = (
        (proposals.lock_open_with_id, proposals.find_with_id) if is_id else (proposals.lock_open, proposals.find_of)
    )
    match await lock(tx, BOOKINGS, id_or_reference):
        case [proposal]:
            return proposal
        case []:
            ended = await find(tx, BOOKINGS, id_or_reference)
            if not ended:
                raise NotProposed(id_or_reference)
            is_approved = ended[-1].is_approved
            code = BookingApprovalRefusal.APPROVED if is_approved else BookingApprovalRefusal.REJECTED
            raise NotOpen(code=code, by=ended[-1].decided_by)
        case several:
            found = [each.id for each in several]
            raise SeveralProposed(code=BookingApprovalRefusal.SEVERAL, reference=id_or_reference, ids=found)


def _details(booking: AnyBooking | ProposedBooking) -> dict[str, Any]:
    """Owner, amount and bank reference, for the audit log."""
    whose: dict[str, Any]
    match booking.booking if isinstance(booking, ProposedBooking) else booking:
        case Booking(merchant_id=merchant_id, releases=releases):
            whose = {"merchant_id": merchant_id} | ({"releases": releases} if releases else {})
        case Transfer(channel=channel, account=account):
            whose = {"channel": channel, "account": account}
        case house:
            whose = {"kind": house.kind, "is_back": house.is_back, "day": house.day}
            whose |= {"channel": house.channel, "account": house.account} if house.channel else {}
    return {**whose, "amount": booking.amount, "reference": booking.bank_reference}
