"""The words on the PDF of an invoice, in its language: whoever writes one translates these. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from malipo.invoices.invoice import Invoice, InvoiceKind, InvoiceLine

PAID = "Paid: the fees were kept from the payments."
GIVEN_BACK = "Nothing is to be paid: these fees were given back."  # under a credit note

LABELS = (
    "Number",
    "Date",
    "Fees of",
    "Corrects invoice",
    "Fiscal number",
    "Seller",
    "Buyer",
    "What",
    "Count",
    "VAT",
    "Amount with VAT",
    "Amount",
    "Without VAT",
    "Total",
    PAID,
    GIVEN_BACK,
)


class InvoiceWords(NamedTuple):
    title: str
    lines: Mapping[InvoiceLine, str]
    labels: Mapping[str, str]  # of LABELS


def note_of(invoice: Invoice) -> str:
    """Which of the two stands under the document: neither asks for money."""
    return PAID if invoice.kind is InvoiceKind.INVOICE else GIVEN_BACK
