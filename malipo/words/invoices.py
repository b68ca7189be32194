"""Words of invoices: what is not done, and what stands on the documents."""

from malipo.invoices.invoice import FeeKind, InvoiceKind, InvoiceRefusal

SENTENCES: dict[str, str] = {
    InvoiceRefusal.NO_SUCH: "There is no invoice {number!r}.",
    InvoiceRefusal.NOT_CLOSED: "{day} is not closed yet. Invoices are for months of which every day is closed.",
    InvoiceRefusal.SELLER_INCOMPLETE: "Set MALIPO_COMPANY_TIN and MALIPO_COMPANY_ADDRESS first: invoices with VAT need "
    "both, and what is issued never changes.",
    InvoiceRefusal.NO_SELLER: "Set MALIPO_COMPANY_NAME first, and the address, TIN and VRN: invoices name the seller.",
    InvoiceRefusal.NO_RATE: "No rate of VAT is set for {day}.",
    InvoiceRefusal.FENCED: "The database was restored, and sending is not released yet: fees of the lost time may be "
    "missing.",
    InvoiceRefusal.NOT_COMPARED: "No worker has compared the database with its mark yet. Run malipo worker, and "
    "try again.",
    InvoiceRefusal.HAS_FISCAL_NUMBER: "{number} has another fiscal number already, and it never changes.",
    InvoiceRefusal.RATE_TOO_EARLY: "Fees until {day} are invoiced already: the rate can only change after that.",
    InvoiceRefusal.RATE_INVALID: "{text!r} is no rate: give per cent, such as 18 or 7.5.",
    InvoiceRefusal.MONTH_INVALID: "{text!r} is no month: give it as 2026-10.",
    InvoiceRefusal.BUYER_INVALID: "This {field} cannot stand on an invoice: it is empty, too long, or no {field}.",
    InvoiceRefusal.FISCAL_NUMBER_INVALID: "Give the fiscal number in 1 to {most} printable characters.",
}
KINDS = {InvoiceKind.INVOICE: "Tax invoice", InvoiceKind.CREDIT_NOTE: "Credit note"}
WITHOUT_VAT = "Invoice"  # of a seller who is not registered for VAT
FEES = {
    FeeKind.COLLECTION: "Fees for collections",
    FeeKind.DISBURSEMENT: "Fees for payouts",
    FeeKind.SETTLEMENT: "Fees for settlements",
    FeeKind.OTHER: "Other fees",
}
GIVEN_BACK = "given back"


def title_of(kind: InvoiceKind, *, has_vat: bool) -> str:
    return KINDS[kind] if has_vat or kind is InvoiceKind.CREDIT_NOTE else WITHOUT_VAT
