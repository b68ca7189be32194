"""The seller of invoices: who runs this installation, by its settings. Pure."""

from malipo.errors import Conflict
from malipo.invoices.invoice import InvoiceRefusal, Party
from malipo.settings import Settings


def seller_of(settings: Settings) -> Party:
    if not settings.company_name:
        raise Conflict(code=InvoiceRefusal.NO_SELLER)
    # Buyers deduct the VAT of an invoice only if it names who has charged it, and a document never changes.
    if settings.company_vrn and not (settings.company_tin and settings.company_address):
        raise Conflict(code=InvoiceRefusal.SELLER_INCOMPLETE)
    return Party(
        name=settings.company_name,
        address=settings.company_address or "",
        tin=settings.company_tin or "",
        vrn=settings.company_vrn or "",
    )
