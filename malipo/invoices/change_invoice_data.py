"""Changes what later invoices say: the legal data of a merchant, and the rate of VAT. What is issued never changes."""

from datetime import date, datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Invalid
from malipo.invoices.invoice import InvoiceRefusal, Party, last_day_of
from malipo.invoices.store import invoices as store
from malipo.invoices.tax import TaxRate
from malipo.merchants.public_profile import tin_of

_MOST_NAME, _MOST_ADDRESS, _MOST_VRN = 150, 500, 30


async def change_buyer(
    tx: Tx,
    merchant_id: str,
    *,
    name: str | None = None,
    address: str | None = None,
    tin: str | None = None,
    vrn: str | None = None,
    actor: Actor,
    now: datetime,
) -> Party:
    """Change what is given; '' removes an address, a TIN or a VRN."""
    before = await store.find_buyer(tx, merchant_id)
    buyer = Party(
        name=before.name if name is None else name.strip(),
        address=before.address if address is None else address.strip(),
        tin=before.tin if tin is None else _tin(tin.strip()),
        vrn=before.vrn if vrn is None else vrn.strip().upper(),
    )
    _check(buyer)
    if buyer != before:
        await store.save_buyer(tx, merchant_id, buyer, by=actor.name, now=now)
        await audit_log.append(
            tx,
            actor,
            "invoice_buyer.changed",
            now=now,
            merchant_id=merchant_id,
            name=buyer.name,
            address=buyer.address,
            tin=buyer.tin,
            vrn=buyer.vrn,
        )
    return buyer


def _tin(text: str) -> str:
    if not text:
        return ""
    if (tin := tin_of(text)) is None:
        raise Invalid(code=InvoiceRefusal.BUYER_INVALID, field="tin")
    return tin


def _check(buyer: Party) -> None:
    for field, text, most in (
        ("name", buyer.name, _MOST_NAME),
        ("address", buyer.address, _MOST_ADDRESS),
        ("vrn", buyer.vrn, _MOST_VRN),
    ):
        is_plain = all(each.isprintable() or (each == "\n" and field == "address") for each in text)
        if len(text) > most or not is_plain or (field == "name" and not text):
            raise Invalid(code=InvoiceRefusal.BUYER_INVALID, field=field)


async def set_rate(tx: Tx, basis_points: int, begins_on: date, *, actor: Actor, now: datetime) -> None:
    """Set the rate from a day on. A month that has invoices keeps its rate."""
    await store.lock(tx)
    last = await store.find_last_month(tx)
    if last is not None and begins_on <= last_day_of(last):
        raise Conflict(code=InvoiceRefusal.RATE_TOO_EARLY, day=last_day_of(last))
    await store.set_rate(tx, TaxRate(begins_on, basis_points), by=actor.name, now=now)
    await audit_log.append(tx, actor, "vat_rate.set", now=now, basis_points=basis_points, begins_on=str(begins_on))
