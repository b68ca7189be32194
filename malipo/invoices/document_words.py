"""The words on the PDF of an invoice, in its language: whoever writes one translates these. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from malipo.invoices.invoice import InvoiceLine

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
    "Paid: the fees were kept from the payments.",
)


class InvoiceWords(NamedTuple):
    title: str
    lines: Mapping[InvoiceLine, str]
    labels: Mapping[str, str]  # of LABELS
