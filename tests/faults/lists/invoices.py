"""Faults in invoices: fees that are invoiced twice, in another month, or to somebody else; VAT that is not booked."""

from tests.faults.fault import Fault

_ISSUE = ("invoices/test_issue_invoices.py",)
_PURE = ("invoices/test_invoice.py",)
_PAGES = ("dashboard/merchant/test_invoices.py",)

_PDF = ("invoices/test_pdf.py",)
_COMMAND = ("cli/test_invoices_command.py",)

FAULTS = (
    Fault(
        "a credit note says that it was paid",
        "note_of",
        "if invoice.kind is InvoiceKind.INVOICE else GIVEN_BACK",
        "if invoice.number else GIVEN_BACK",
        "A merchant reads that fees were kept that it got back.",
        _PDF,
    ),
    Fault(
        "a PDF has the sum with VAT as that without",
        "_totals",
        "_figure(invoice.net)",
        "_figure(invoice.gross)",
        "A merchant claims another VAT than the house pays.",
        _PDF,
    ),
    Fault(
        "a list of invoices ends with the first thousand",
        "read_latest",
        "while found := await find_latest(",
        "if found := await find_latest(",
        "An accountant imports a part of the invoices and takes it for all.",
        _COMMAND,
    ),
    Fault(
        "the VAT of lines is rounded for each",
        "vat_of_lines",
        "found[line] = vat_in(sums[line.rate], line.rate) - vat_in(before, line.rate)",
        "found[line] = vat_in(line.gross, line.rate) + 0 * before",
        "The lines of a file add up to another VAT than the document has.",
        _PURE,
    ),
    Fault(
        "a month is invoiced again",
        "issue",
        "if merchant not in issued_before:",
        "if merchant not in issued_before or True:",
        "A merchant has two invoices for the fees of one month, or the command fails.",
        _ISSUE,
    ),
    Fault(
        "two operators invoice one month at once",
        "issue",
        "await store.lock(tx)",
        "pass",
        "The second one's command fails in the middle.",
        _ISSUE,
    ),
    Fault(
        "late moves of the last day are invoiced twice",
        "find",
        "AND NOT (created_at >= $4 AND {late.is_late})",
        "AND $4::timestamptz IS NOT NULL",
        "A fee that was committed after the close is in the invoices of both months.",
        _ISSUE,
    ),
    Fault(
        "a credit note books VAT once more",
        "_book_vat",
        "if draft.kind is InvoiceKind.CREDIT_NOTE:",
        "if draft.kind is InvoiceKind.CREDIT_NOTE and draft.corrects is None:",
        "The house pays VAT on fees that it has given back.",
        _ISSUE,
    ),
    Fault(
        "a credit note names the month of the clock, not that of the books",
        "drafts_of",
        "timedelta(days=each.was_late)",
        "timedelta(days=0)",
        "A fee of the next month's invoice is given back from one that never had it.",
        (*_PURE, *_ISSUE),
    ),
    Fault(
        "a credit note takes back VAT that its invoice never had",
        "drafts_of",
        "(has_vat if corrected is None else corrected.has_vat)",
        "has_vat",
        "The house owes less VAT than it has taken, or cannot invoice a month at all.",
        (*_PURE, *_ISSUE),
    ),
    Fault(
        "invoices are issued while the database may have lost fees",
        "issue",
        "if standing.is_fenced:",
        "if standing.is_fenced and merchant_id is not None:",
        "After a restore an invoice lacks the fees of the lost time, and never changes.",
        _ISSUE,
    ),
    Fault(
        "a restored database goes on with the numbers of before",
        "series_of",
        'return "A" if epoch == 1 else',
        'return "A" if epoch else',
        "Two invoices have one number.",
        (*_PURE, *_ISSUE),
    ),
    Fault(
        "a rate changes what is invoiced",
        "set_rate",
        "if last is not None and begins_on <= last_day_of(last):",
        "if last is not None and begins_on < last:",
        "A credit note has another rate than the invoice that it corrects.",
        _ISSUE,
    ),
    Fault(
        "an operator undoes the VAT of an invoice",
        "undo",
        "if booking.kind is HouseBookingKind.VAT:",
        "if booking.kind is HouseBookingKind.VAT and booking_id == '':",
        "The books owe less VAT than the invoices say.",
        _ISSUE,
    ),
    Fault(
        "a merchant reads another's invoice",
        "_find",
        "lambda connection: store.find(connection, number, merchant_id=request.merchant_id)",
        "lambda connection: store.find(connection, number)",
        "Numbers can be guessed: a competitor learns what somebody earns.",
        _PAGES,
    ),
    Fault(
        "VAT is rounded line by line",
        "Draft.vat_by_rate",
        "sums[each.rate] = sums.get(each.rate, 0) + each.gross\n        return {rate: vat_in(gross, rate) for rate, gross in sorted(sums.items())}",
        "sums[each.rate] = sums.get(each.rate, 0) + vat_in(each.gross, each.rate)\n        return dict(sorted(sums.items()))",
        "The VAT of an invoice differs from that of its sum.",
        _PURE,
    ),
)
