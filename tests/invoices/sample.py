"""An invoice as it is stored, for tests of what shows it."""

from datetime import UTC, date, datetime
from typing import Any

import msgspec

from malipo.db import Tx
from malipo.invoices.invoice import FeeKind, Invoice, InvoiceKind, InvoiceLine, Party
from malipo.invoices.store import invoices


async def store_invoice(tx: Tx, merchant_id: str, **more: Any) -> Invoice:
    """Without VAT, so that nothing needs to be booked."""
    ordinal = await invoices.take_number(tx, "T", 2026)
    invoice = Invoice(
        kind=InvoiceKind.INVOICE,
        merchant_id=merchant_id,
        month=date(2026, 9, 1),
        corrects=None,
        lines=(InvoiceLine(fee=FeeKind.COLLECTION, count=3, gross=30, rate=0),),
        number=f"T-2026-{ordinal:06}",
        series="T",
        year=2026,
        ordinal=ordinal,
        seller=Party(name="Malipo Ltd"),
        buyer=Party(name="Duka"),
        booking_id=None,
        issued_by="operator asha",
        issued_at=datetime(2026, 10, 2, 9, tzinfo=UTC),
    )
    invoice = msgspec.structs.replace(invoice, **more)
    await invoices.insert(tx, invoice)
    return invoice
