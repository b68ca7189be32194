"""Invoices in words: the lines on the screen, the words of the PDF, and the rows of the CSV."""

from collections.abc import Callable, Iterator

from malipo.invoices.document_words import LABELS, InvoiceWords
from malipo.invoices.invoice import Invoice, InvoiceKind, InvoiceLine
from malipo.invoices.line_vat import vat_of_lines
from malipo.words import invoices as words

SENTENCES = [*words.KINDS.values(), words.WITHOUT_VAT, *words.FEES.values(), words.GIVEN_BACK, *LABELS]

COLUMNS = (
    *("number", "kind", "issuedAt", "month", "merchantId", "buyer", "buyerTin", "corrects", "fiscalNumber"),
    *("fee", "isGivenBack", "count", "vatBasisPoints", "amount", "net", "vat"),
    *("buyerVrn", "sellerVrn"),
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


def rows_of(invoice: Invoice) -> Iterator[tuple[str | int, ...]]:
    """A row of CSV for each line of a document. The lines of a credit note are below zero. Net and VAT of the lines add
    up to those of the document."""
    sign = 1 if invoice.kind is InvoiceKind.INVOICE else -1
    vat = vat_of_lines(invoice.lines)
    for line in invoice.lines:
        yield (
            invoice.number,
            invoice.kind.value,
            invoice.issued_at.isoformat(),
            f"{invoice.month:%Y-%m}",
            invoice.merchant_id,
            invoice.buyer.name,
            invoice.buyer.tin,
            invoice.corrects or "",
            invoice.fiscal_number or "",
            line.fee.value,
            "yes" if line.is_given_back else "no",
            line.count,
            line.rate,
            sign * line.gross,
            sign * (line.gross - vat[line]),
            sign * vat[line],
            invoice.buyer.vrn,
            invoice.seller.vrn,
        )
