"""What the fees of a month become: VAT, lines, invoices and credit notes. Pure."""

from datetime import date

import pytest

from malipo.errors import Conflict
from malipo.invoices.invoice import (
    FeeKind,
    FeeSum,
    InvoiceDraft,
    InvoiceKind,
    InvoiceLine,
    Issued,
    drafts_of,
    last_day_of,
    number_of,
    parse_month,
    series_of,
)
from malipo.invoices.line_vat import vat_of_lines
from malipo.invoices.tax import TaxRate, percent, rate_on, vat_in

INVOICED = Issued("A-2026-000001", has_vat=True)
SEPTEMBER, OCTOBER = date(2026, 9, 1), date(2026, 10, 1)
RATES = [TaxRate(date(2026, 1, 1), 1800), TaxRate(date(2026, 10, 16), 1600)]


# By hand: gross, rate, VAT. 118 contains 18 at 18 %.
@pytest.mark.parametrize(
    ("gross", "rate", "vat"),
    [
        (118, 1800, 18),
        (1180, 1800, 180),
        (100, 1800, 15),  # 15.25
        (10, 1800, 2),  # 1.53
        (3, 1800, 0),  # 0.46
        (4, 1800, 1),  # 0.61
        (59, 1800, 9),
        (0, 1800, 0),
        (1000, 0, 0),
        (-118, 1800, -18),
        (3, 10_000, 2),  # 1.5 is rounded up
        (-3, 10_000, -2),
        (10**15, 1800, 152_542_372_881_356),
    ],
)
def test_vat_is_the_nearest_shilling_that_an_amount_contains(gross: int, rate: int, vat: int) -> None:
    assert vat_in(gross, rate) == vat


def test_the_rate_of_a_day_is_the_one_that_began_last() -> None:
    assert rate_on(RATES, date(2025, 12, 31)) is None
    assert rate_on(RATES, date(2026, 1, 1)) == 1800
    assert rate_on(RATES, date(2026, 10, 15)) == 1800
    assert rate_on(RATES, date(2026, 10, 16)) == 1600
    assert (percent(1800), percent(750), percent(0)) == ("18 %", "7.5 %", "0 %")


def test_numbers_series_and_months() -> None:
    assert number_of("A", 2026, 7) == "A-2026-000007"
    assert [series_of(epoch) for epoch in (1, 1_795_093_921)] == ["A", "R261119131201"]
    assert last_day_of(date(2026, 12, 1)) == date(2026, 12, 31)
    assert last_day_of(date(2028, 2, 1)) == date(2028, 2, 29)
    assert parse_month("2026-10") == OCTOBER
    for wrong in ("2026-13", "October", "2026-10-01", ""):
        with pytest.raises(Conflict):
            parse_month(wrong)


def fee(
    kind: FeeKind, day: int, amount: int, *, of: date | None = None, count: int = 1, counted_on: date | None = None
) -> FeeSum:
    return FeeSum(
        merchant_id="mer_1",
        fee=kind,
        day=OCTOBER.replace(day=day),
        given_back_of=of,
        counted_on=counted_on,
        count=count,
        amount=amount,
    )


def drafts(*sums: FeeSum, issued: dict[date, Issued] | None = None, has_vat: bool = True) -> list[InvoiceDraft]:
    return drafts_of(sums, OCTOBER, rates=RATES, has_vat=has_vat, issued=issued or {})


def table(draft: InvoiceDraft) -> list[tuple[str, bool, int, int, int]]:
    return [(each.fee.value, each.is_given_back, each.rate, each.count, each.gross) for each in draft.lines]


def test_an_invoice_has_a_line_for_each_kind_and_rate() -> None:
    [invoice] = drafts(
        fee(FeeKind.DISBURSEMENT, 2, 500, count=5),
        fee(FeeKind.COLLECTION, 3, 1000, count=2),
        fee(FeeKind.COLLECTION, 15, 180),
        fee(FeeKind.COLLECTION, 16, 1160),
    )
    assert invoice.kind is InvoiceKind.INVOICE
    assert table(invoice) == [
        ("collection", False, 1600, 1, 1160),
        ("collection", False, 1800, 3, 1180),
        ("disbursement", False, 1800, 5, 500),
    ]
    assert invoice.vat_by_rate == {1600: 160, 1800: 256}  # of 1,160 and of 1,680
    assert (invoice.gross, invoice.vat, invoice.net) == (2840, 416, 2424)


def test_vat_is_rounded_once_for_a_rate_and_not_in_each_line() -> None:
    """At 18 %: of 3 it is 0.46, which is nothing, and of 9 it is 1.37. At 16 %: of 4 it is 0.55, a shilling, and of 12
    it is 1.66, two and not three."""
    kinds = (FeeKind.COLLECTION, FeeKind.DISBURSEMENT, FeeKind.SETTLEMENT)
    [invoice] = drafts(*(fee(kind, 2, 3) for kind in kinds), *(fee(kind, 20, 4) for kind in kinds))
    assert len(invoice.lines) == 6
    assert invoice.vat_by_rate == {1600: 2, 1800: 1}
    note = drafts(*(fee(kind, 20, 4, of=date(2026, 9, 30)) for kind in kinds), issued={SEPTEMBER: INVOICED})[0]
    assert (len(note.lines), note.gross, note.vat) == (3, 12, 2)


def test_a_fee_that_comes_back_in_its_month_is_a_line_below_zero() -> None:
    [invoice] = drafts(
        fee(FeeKind.COLLECTION, 3, 1000, count=2),
        fee(FeeKind.COLLECTION, 9, 400, of=date(2026, 10, 3)),
        issued={SEPTEMBER: INVOICED},
    )
    assert table(invoice) == [("collection", False, 1800, 2, 1000), ("collection", True, 1800, 1, -400)]
    assert (invoice.gross, invoice.vat) == (600, 92)


def test_a_fee_of_an_invoiced_month_comes_back_by_a_credit_note_at_the_rate_of_its_day() -> None:
    invoice, note = drafts(
        fee(FeeKind.COLLECTION, 20, 1160),
        fee(FeeKind.COLLECTION, 20, 118, of=date(2026, 9, 30)),
        issued={SEPTEMBER: INVOICED},
    )
    assert table(invoice) == [("collection", False, 1600, 1, 1160)]
    assert (note.kind, note.corrects, note.month) == (InvoiceKind.CREDIT_NOTE, "A-2026-000001", OCTOBER)
    assert table(note) == [("collection", True, 1800, 1, 118)]
    assert (note.gross, note.vat, note.net) == (118, 18, 100)


def test_a_fee_of_a_month_without_an_invoice_lowers_this_one_or_becomes_a_credit_note_of_its_own() -> None:
    [invoice] = drafts(fee(FeeKind.COLLECTION, 3, 1000), fee(FeeKind.COLLECTION, 9, 400, of=date(2026, 9, 3)))
    assert (invoice.kind, invoice.gross) == (InvoiceKind.INVOICE, 600)
    [note] = drafts(fee(FeeKind.COLLECTION, 3, 100), fee(FeeKind.COLLECTION, 9, 400, of=date(2026, 9, 3)))
    assert (note.kind, note.corrects, note.gross) == (InvoiceKind.CREDIT_NOTE, None, 300)


@pytest.mark.parametrize(
    # Charged at 16 %, and given back at 18 % of September, which has no invoice; by hand: kind, gross and VAT of each.
    ("charged", "back", "expected"),
    [
        (1000, 800, [("invoice", 200, 16)]),  # 138 − 122
        (1000, 950, [("invoice", 1000, 138), ("credit_note", 950, 145)]),
        (1000, 1000, [("invoice", 1000, 138), ("credit_note", 1000, 153)]),
        (1000, 1001, [("credit_note", 1, 15)]),
        (3, 3, []),  # Neither contains half a shilling.
    ],
)
def test_fees_that_come_back_at_a_higher_rate_never_make_vat_below_zero(
    charged: int, back: int, expected: list[tuple[str, int, int]]
) -> None:
    found = drafts(fee(FeeKind.COLLECTION, 20, charged), fee(FeeKind.COLLECTION, 21, back, of=date(2026, 9, 10)))
    assert [(each.kind.value, each.gross, each.vat) for each in found] == expected
    assert all(each.corrects is None for each in found)


def test_a_credit_note_of_more_vat_than_it_could_say_is_two_documents() -> None:
    """At 16 % after 18 %: 1,000 came back without an invoice, and less was charged at a higher rate."""
    lowered = [TaxRate(date(2026, 1, 1), 100), TaxRate(date(2026, 10, 16), 1800)]
    sums = [fee(FeeKind.COLLECTION, 20, 900), fee(FeeKind.COLLECTION, 21, 1000, of=date(2026, 9, 10))]
    found = drafts_of(sums, OCTOBER, rates=lowered, has_vat=True, issued={})
    assert [(each.kind.value, each.gross, each.vat) for each in found] == [
        ("invoice", 900, 137),
        ("credit_note", 1000, 10),
    ]


def test_a_credit_note_has_vat_if_its_invoice_has_it() -> None:
    """Whoever is registered for VAT since October owes none of September's fees, and cannot get it back."""
    back = fee(FeeKind.COLLECTION, 20, 118, of=date(2026, 9, 30))
    [note] = drafts(back, issued={SEPTEMBER: Issued("A-2026-000001", has_vat=False)})
    assert (note.gross, note.vat, [each.rate for each in note.lines]) == (118, 0, [0])
    [note] = drafts(back, issued={SEPTEMBER: INVOICED}, has_vat=False)
    assert (note.gross, note.vat) == (118, 18)


def test_a_fee_that_was_charged_after_the_close_of_its_month_comes_back_from_the_invoice_that_has_it() -> None:
    late = fee(FeeKind.COLLECTION, 20, 118, of=date(2026, 9, 30), counted_on=date(2026, 10, 1))
    [invoice] = drafts(fee(FeeKind.COLLECTION, 3, 1000), late, issued={SEPTEMBER: INVOICED})
    assert table(invoice) == [("collection", False, 1800, 1, 1000), ("collection", True, 1800, 1, -118)]
    of_august = fee(FeeKind.COLLECTION, 20, 118, of=date(2026, 8, 31), counted_on=date(2026, 9, 1))
    [note] = drafts(of_august, issued={SEPTEMBER: INVOICED, date(2026, 8, 1): Issued("A-2026-000000", has_vat=True)})
    assert note.corrects == "A-2026-000001"


def test_a_fee_from_before_the_first_rate_comes_back_without_vat() -> None:
    """Perhaps no rate can be set for that month any more: others have invoices of it."""
    [invoice] = drafts(fee(FeeKind.COLLECTION, 3, 1180), fee(FeeKind.COLLECTION, 9, 100, of=date(2025, 12, 31)))
    assert (invoice.gross, invoice.vat_by_rate) == (1080, {0: 0, 1800: 180})


def test_fees_that_cancel_out_need_no_document() -> None:
    assert drafts(fee(FeeKind.COLLECTION, 3, 400), fee(FeeKind.COLLECTION, 9, 400, of=date(2026, 10, 3))) == []
    assert drafts() == []


def test_without_vat_nothing_is_vat_and_no_rate_is_needed() -> None:
    [invoice] = drafts_of([fee(FeeKind.COLLECTION, 3, 1000)], OCTOBER, rates=[], has_vat=False, issued={})
    assert (invoice.vat, invoice.net) == (0, 1000)
    with pytest.raises(Conflict) as refused:
        drafts_of([fee(FeeKind.COLLECTION, 3, 1000)], OCTOBER, rates=[], has_vat=True, issued={})
    assert refused.value.code == "invoice_no_rate"


def test_net_and_vat_of_the_lines_add_up_to_the_document() -> None:
    """Three lines of TZS 3 each contain no VAT when each is rounded, and TZS 9 contain one shilling."""
    lines = [
        InvoiceLine(fee=fee, count=1, gross=gross, rate=rate)
        for fee, gross, rate in [
            (FeeKind.COLLECTION, 3, 1800),
            (FeeKind.DISBURSEMENT, 3, 1800),
            (FeeKind.SETTLEMENT, 3, 1800),
            (FeeKind.OTHER, 1160, 1600),
        ]
    ]
    back = InvoiceLine(fee=FeeKind.COLLECTION, is_given_back=True, count=1, gross=-7, rate=1800)
    assert [vat_in(each.gross, each.rate) for each in lines] == [0, 0, 0, 160]
    assert list(vat_of_lines(lines).values()) == [0, 1, 0, 160]
    assert list(vat_of_lines([*lines, back]).values()) == [0, 1, 0, 160, -1]
