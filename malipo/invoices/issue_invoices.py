"""Issues the invoices of a closed month, and credit notes to those of earlier months, in one commit.

A number is taken from a counter in the commit of its document, so numbers have no gaps. What is issued never changes.
Nobody can read a document, and no e-mail has its number, before the high-water mark of a worker has its issue: a
restore that loses the document is noticed then, and its number is not given again.
The same command again issues what is missing, and nothing twice.
"""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo import clock, ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, ensure
from malipo.invoices.invoice import (
    FeeSum,
    Invoice,
    InvoiceDraft,
    InvoiceKind,
    InvoiceRefusal,
    NoSuchInvoice,
    Party,
    drafts_of,
    last_day_of,
    number_of,
    series_of,
)
from malipo.invoices.store import fees
from malipo.invoices.store import invoices as store
from malipo.invoices.tax import TaxRate
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind
from malipo.ledger.store.closed_days import first_open_day
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.reconciliation.close.store import closes
from malipo.restore.store import installation, send_counts

PATH = "/dashboard/invoices"
_MOST_FISCAL_NUMBER = 100


async def issue(
    tx: Tx, month: date, *, seller: Party, merchant_id: str | None = None, actor: Actor, now: datetime
) -> list[Invoice]:
    """Issue the documents of a month that are missing: of all merchants, or of one."""
    state = await installation.hold(tx)
    if state.is_fenced:  # Fees of the lost time may be unknown still.
        raise Conflict(code=InvoiceRefusal.FENCED)
    if await installation.why_not_cancel(tx) is not None:
        # Perhaps it was restored, and the next numbers were given in the lost time.
        raise Conflict(code=InvoiceRefusal.NOT_COMPARED)
    last = last_day_of(month)
    if await closes.find(tx, last) is None:
        raise Conflict(code=InvoiceRefusal.NOT_CLOSED, day=last)
    await store.lock(tx)
    rates, series = await store.find_rates(tx), series_of(state.epoch)
    opened = await first_open_day(tx)
    issued_before = await store.find_issued(tx, month)
    issued: list[Invoice] = []
    for merchant, sums in (await fees.find(tx, month, merchant_id=merchant_id)).items():
        if merchant not in issued_before:
            issued += await issue_one(
                tx, sums, month, seller=seller, rates=rates, series=series, opened=opened, actor=actor, now=now
            )
    # The last: workers wait for this commit.
    await store.note_looks(tx, [each.number for each in issued], await send_counts.hold_looks(tx))
    return issued


async def issue_one(
    tx: Tx,
    sums: Sequence[FeeSum],
    month: date,
    *,
    seller: Party,
    rates: Sequence[TaxRate],
    series: str,
    opened: date | None,
    actor: Actor,
    now: datetime,
) -> list[Invoice]:
    """Issue the documents of one merchant, from its fees of the month."""
    merchant_id, issued = sums[0].merchant_id, []
    before, buyer = await store.find_by_month(tx, merchant_id), await store.find_buyer(tx, merchant_id)
    for draft in drafts_of(sums, month, rates=rates, has_vat=bool(seller.vrn), issued=before):
        day = clock.day_of(now)
        ordinal = await store.take_number(tx, series, day.year)
        number = number_of(series, day.year, ordinal)
        invoice = Invoice(
            **msgspec.structs.asdict(draft),
            number=number,
            series=series,
            year=day.year,
            ordinal=ordinal,
            seller=seller,
            buyer=buyer,
            booking_id=await _book_vat(tx, draft, number, day=opened or day, actor=actor, now=now),
            issued_by=actor.name,
            issued_at=now,
        )
        await store.insert(tx, invoice)
        await _notify(tx, invoice, actor, now=now)
        issued.append(invoice)
    return issued


async def _book_vat(tx: Tx, draft: InvoiceDraft, number: str, *, day: date, actor: Actor, now: datetime) -> str | None:
    if not draft.vat:
        return None
    source, target = Account.FEES, Account.VAT
    if draft.kind is InvoiceKind.CREDIT_NOTE:
        source, target = target, source
    booking = HouseBooking(
        id=ids.mint(house_bookings.ID_PREFIX, now),
        kind=HouseBookingKind.VAT,
        channel="",
        source=source,
        target=target,
        amount=draft.vat,
        reference=number,
        value_date=day,
        booked_by=actor.name,
    )
    booked = await house_bookings.book(tx, [booking], now=now)
    ensure(bool(booked), "the number is new")
    return booking.id


async def _notify(tx: Tx, invoice: Invoice, actor: Actor, *, now: datetime) -> None:
    await audit_log.append(
        tx,
        actor,
        "invoice.issued",
        now=now,
        merchant_id=invoice.merchant_id,
        number=invoice.number,
        month=f"{invoice.month:%Y-%m}",
        amount=invoice.gross,
    )
    facts: dict[str, str | int] = {
        "number": invoice.number,
        "month": f"{invoice.month:%Y-%m}",
        "amount": invoice.gross,
        "path": f"{PATH}/{invoice.number}",
    }
    await write.to_people(tx, MessageKind.INVOICE_ISSUED, invoice.merchant_id, facts, now=now, cause=invoice.number)


async def add_fiscal_number(tx: Tx, number: str, fiscal_number: str, *, actor: Actor, now: datetime) -> None:
    """Add the number that the fiscal device gave to a document. Once: it never changes."""
    fiscal_number = fiscal_number.strip()
    if not 1 <= len(fiscal_number) <= _MOST_FISCAL_NUMBER or not fiscal_number.isprintable():
        raise Conflict(code=InvoiceRefusal.FISCAL_NUMBER_INVALID, most=_MOST_FISCAL_NUMBER)
    invoice = await store.find(tx, number)
    if invoice is None:
        raise NoSuchInvoice(number)
    if invoice.fiscal_number == fiscal_number:
        return
    if not await store.set_fiscal_number(tx, number, fiscal_number):
        raise Conflict(code=InvoiceRefusal.HAS_FISCAL_NUMBER, number=number)
    await audit_log.append(
        tx,
        actor,
        "invoice.fiscal_number",
        now=now,
        merchant_id=invoice.merchant_id,
        number=number,
        fiscal_number=fiscal_number,
    )


def total_of(invoices: Sequence[Invoice]) -> int:
    """Invoices less credit notes: the fees that the ledger has booked, if these are all of a month."""
    return sum(each.gross if each.kind is InvoiceKind.INVOICE else -each.gross for each in invoices)
