"""Invoices in words: the lines on the screen, the words of the PDF, and the rows of the CSV."""

from collections.abc import Callable, Iterable, Iterator

from malipo.invoices.document_words import LABELS, InvoiceWords
from malipo.invoices.invoice import Invoice, InvoiceKind, InvoiceLine
from malipo.words import invoices as words

SENTENCES = [*words.KINDS.values(), words.WITHOUT_VAT, *words.FEES.values(), words.GIVEN_BACK, *LABELS]

_COLUMNS = (
    *("number", "kind", "issuedAt", "month", "merchantId", "buyer", "buyerTin", "corrects", "fiscalNumber"),
    *("fee", "isGivenBack", "count", "vatBasisPoints", "amount"),
)


def title_of(invoice: Invoice, say: Callable[[str], str]) -> str:
    return say(words.title_of(invoice.kind, has_vat=bool(invoice.seller.vrn)))


def line_of(line: InvoiceLine, say: Callable[[str], str]) -> str:
    """`Fees for payouts, given back`."""
    name = say(words.FEES[line.fee])
    return f"{name}, {say(words.GIVEN_BACK)}" if line.is_given_back else name


def document_words(invoice: Invoice, say: Callable[[str], str]) -> InvoiceWords:
    return InvoiceWords(
        title_of(invoice, say),
        {line: line_of(line, say) for line in invoice.lines},
        {each: say(each) for each in LABELS},
    )


def csv_rows(found: Iterable[Invoice]) -> Iterator[tuple[str | int, ...]]:
    """A row for each line of each document. The lines of a credit note are below zero."""
    yield _COLUMNS
    for each in found:
        sign = 1 if each.kind is InvoiceKind.INVOICE else -1
        for line in each.lines:
            yield (
                each.number,
                each.kind.value,
                each.issued_at.isoformat(),
                f"{each.month:%Y-%m}",
                each.merchant_id,
                each.buyer.name,
                each.buyer.tin,
                each.corrects or "",
                each.fiscal_number or "",
                line.fee.value,
                "yes" if line.is_given_back else "no",
                line.count,
                line.rate,
                sign * line.gross,
            )
