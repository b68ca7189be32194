"""Invoices and credit notes: what the fees of a closed month become. Pure.

A fee includes VAT. A document has a line for each kind of fee and each rate of VAT. A fee that was given back in the
month in which it was charged is a line below zero of that month's invoice. A fee of an earlier month is given back by a
credit note to the invoice of that month. So the invoices of a month less its credit notes are what the ledger has
booked as fees in that month.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from malipo.errors import Code, Conflict, Missing
from malipo.invoices.tax import TaxRate, rate_on, vat_in

_NUMBER = re.compile(r"[A-Z0-9]{1,20}-[0-9]{4}-[0-9]{6,9}")


class FeeKind(StrEnum):
    COLLECTION = "collection"
    DISBURSEMENT = "disbursement"
    SETTLEMENT = "settlement"
    OTHER = "other"


class InvoiceKind(StrEnum):
    INVOICE = "invoice"
    CREDIT_NOTE = "credit_note"


class InvoiceRefusal(Code):
    NO_SUCH = "invoice_no_such"
    NOT_CLOSED = "invoice_month_not_closed"
    NO_SELLER = "invoice_no_seller"
    SELLER_INCOMPLETE = "invoice_seller_incomplete"
    NO_RATE = "invoice_no_rate"
    FENCED = "invoice_fenced"
    NOT_COMPARED = "invoice_not_compared"
    HAS_FISCAL_NUMBER = "invoice_has_fiscal_number"
    RATE_TOO_EARLY = "invoice_rate_too_early"
    RATE_INVALID = "invoice_rate_invalid"
    MONTH_INVALID = "invoice_month_invalid"
    BUYER_INVALID = "invoice_buyer_invalid"
    FISCAL_NUMBER_INVALID = "invoice_fiscal_number_invalid"


class NoSuchInvoice(Missing):
    def __init__(self, number: str) -> None:
        super().__init__(code=InvoiceRefusal.NO_SUCH, number=number)


class Party(msgspec.Struct, frozen=True, kw_only=True):
    """The seller or the buyer, as the document names it."""

    name: str
    address: str = ""
    tin: str = ""
    vrn: str = ""


class InvoiceLine(msgspec.Struct, frozen=True, kw_only=True):
    fee: FeeKind
    is_given_back: bool = False
    count: int
    gross: int  # below zero on an invoice, if it was given back
    rate: int  # of VAT, in basis points


class FeeSum(msgspec.Struct, frozen=True, kw_only=True):
    """The fees of one kind that a merchant was charged, or was given back, on one day."""

    merchant_id: str
    fee: FeeKind
    day: date
    given_back_of: date | None = None  # the day on which they were charged; None: they are charged
    counted_on: date | None = None  # by the books: a later day, if they were committed after the close of that one
    count: int
    amount: int


class Issued(NamedTuple):
    """The invoice that a credit note corrects."""

    number: str
    has_vat: bool


class InvoiceDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A document without a number."""

    kind: InvoiceKind
    merchant_id: str
    month: date  # the first day of the month whose fees it has
    corrects: str | None  # of a credit note: the number of the invoice
    lines: Sequence[InvoiceLine]

    @property
    def gross(self) -> int:
        return sum(each.gross for each in self.lines)

    @property
    def vat_by_rate(self) -> dict[int, int]:
        """The VAT of each rate, from the sum of its lines, so that the rounding of lines does not add up."""
        sums: dict[int, int] = {}
        for each in self.lines:
            sums[each.rate] = sums.get(each.rate, 0) + each.gross
        return {rate: vat_in(gross, rate) for rate, gross in sorted(sums.items())}

    @property
    def vat(self) -> int:
        return sum(self.vat_by_rate.values())

    @property
    def net(self) -> int:
        return self.gross - self.vat


class Invoice(InvoiceDraft, frozen=True, kw_only=True):
    number: str
    series: str
    year: int
    ordinal: int
    seller: Party
    buyer: Party
    booking_id: str | None  # which moves the VAT out of fees; None if there is none
    issued_by: str
    issued_at: datetime
    fiscal_number: str | None = None


def month_of(day: date) -> date:
    return day.replace(day=1)


def last_day_of(month: date) -> date:
    return date.fromordinal(_month_after(month).toordinal() - 1)


def _month_after(month: date) -> date:
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


def parse_month(text: str) -> date:
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        raise Conflict(code=InvoiceRefusal.MONTH_INVALID, text=text) from None


def can_be_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def number_of(series: str, year: int, ordinal: int) -> str:
    """`A-2026-000001`."""
    return f"{series}-{year}-{ordinal:06}"


def series_of(epoch: int) -> str:
    """A database that was restored does not know the last numbers, so it begins a series of its own: the moment of the
    restore, which is what an epoch is."""
    return "A" if epoch == 1 else f"R{datetime.fromtimestamp(epoch, UTC):%y%m%d%H%M%S}"


def drafts_of(
    sums: Iterable[FeeSum], month: date, *, rates: Sequence[TaxRate], has_vat: bool, issued: Mapping[date, Issued]
) -> list[InvoiceDraft]:
    """The documents of one merchant's month: the invoice first, then a credit note for each invoice of an earlier
    month, with VAT if that one has it. `issued` are the merchant's invoices, by month."""
    merchant_id = ""
    own: dict[tuple[FeeKind, bool, int], tuple[int, int]] = {}
    credited: dict[date, dict[tuple[FeeKind, bool, int], tuple[int, int]]] = {}
    for each in sums:
        merchant_id = each.merchant_id
        charged_on = each.given_back_of
        charged_in = None if charged_on is None else month_of(each.counted_on or charged_on)
        corrected = None if charged_in is None or charged_in >= month else issued.get(charged_in)
        rate = _rate(rates, each) if (has_vat if corrected is None else corrected.has_vat) else 0
        if charged_in is None or corrected is None:
            amount = each.amount if charged_on is None else -each.amount
            _add(own, (each.fee, charged_on is not None, rate), each.count, amount)
        else:
            _add(credited.setdefault(charged_in, {}), (each.fee, True, rate), each.count, each.amount)
    drafts = _own_documents(_draft(InvoiceKind.INVOICE, merchant_id, month, None, _lines(own)))
    for charged_in, amounts in sorted(credited.items()):
        drafts.append(_draft(InvoiceKind.CREDIT_NOTE, merchant_id, month, issued[charged_in].number, _lines(amounts)))
    return drafts


def _own_documents(whole: InvoiceDraft) -> list[InvoiceDraft]:
    """One document, unless the fees and their VAT have different signs, which no document can say: fees of a month
    without an invoice came back at another rate. Then an invoice of the rates of which more was charged, and a credit
    note of the others."""
    if whole.gross == whole.vat == 0:
        return []
    if whole.gross > 0 and whole.vat >= 0:
        return [whole]
    if whole.gross < 0 and whole.vat <= 0:
        return [_as_credit_note(whole)]
    sums: dict[int, int] = {}
    for each in whole.lines:
        sums[each.rate] = sums.get(each.rate, 0) + each.gross
    charged = [each for each in whole.lines if sums[each.rate] >= 0]
    back = [each for each in whole.lines if sums[each.rate] < 0]
    invoice = msgspec.structs.replace(whole, lines=tuple(charged))
    return [invoice, _as_credit_note(msgspec.structs.replace(whole, lines=tuple(back)))]


def _as_credit_note(draft: InvoiceDraft) -> InvoiceDraft:
    lines = [msgspec.structs.replace(each, gross=-each.gross) for each in draft.lines]
    return _draft(InvoiceKind.CREDIT_NOTE, draft.merchant_id, draft.month, None, lines)


def _rate(rates: Sequence[TaxRate], fee: FeeSum) -> int:
    """A fee comes back without VAT if it was charged before the first rate: perhaps no rate can be set for that month,
    because others have invoices of it."""
    rate = rate_on(rates, fee.given_back_of or fee.day)
    if rate is None and (fee.given_back_of is None or not rates):
        raise Conflict(code=InvoiceRefusal.NO_RATE, day=fee.given_back_of or fee.day)
    return rate or 0


def _add(
    amounts: dict[tuple[FeeKind, bool, int], tuple[int, int]], key: tuple[FeeKind, bool, int], count: int, amount: int
) -> None:
    counted, summed = amounts.get(key, (0, 0))
    amounts[key] = (counted + count, summed + amount)


def _lines(amounts: Mapping[tuple[FeeKind, bool, int], tuple[int, int]]) -> list[InvoiceLine]:
    kinds = list(FeeKind)
    return [
        InvoiceLine(fee=fee, is_given_back=is_given_back, count=count, gross=amount, rate=rate)
        for (fee, is_given_back, rate), (count, amount) in sorted(
            amounts.items(), key=lambda item: (item[0][1], kinds.index(item[0][0]), item[0][2])
        )
    ]


def _draft(
    kind: InvoiceKind, merchant_id: str, month: date, corrects: str | None, lines: Sequence[InvoiceLine]
) -> InvoiceDraft:
    return InvoiceDraft(kind=kind, merchant_id=merchant_id, month=month, corrects=corrects, lines=tuple(lines))
