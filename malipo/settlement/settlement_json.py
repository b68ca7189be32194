"""The JSON of a settlement, as the contract defines it for responses and events. Pure."""

from typing import Any

from malipo import clock
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.settlement import Settlement, SettlementStatus

View = dict[str, Any]


def created(settlement: Settlement, account: BankAccount | None) -> View:
    """The response to its creation. It never changes, so that a repeated request gets the same response."""
    return _head(settlement, SettlementStatus.REQUESTED, account) | {"createdAt": clock.iso(settlement.created_at)}


def shown(settlement: Settlement, account: BankAccount | None) -> View:
    """The settlement as it is now. A field appears only once it is known."""
    view = _head(settlement, settlement.status, account) | {"createdAt": clock.iso(settlement.created_at)}
    known: list[tuple[str, object]] = [
        ("sentAt", settlement.sent_at and clock.iso(settlement.sent_at)),
        ("completedAt", settlement.completed_at and clock.iso(settlement.completed_at)),
        ("bookedOn", settlement.booked_on and settlement.booked_on.isoformat()),
        ("bankReference", settlement.bank_reference),
        ("returnedAt", settlement.returned_at and clock.iso(settlement.returned_at)),
        ("returnReason", settlement.return_reason),
        ("cancelledAt", settlement.cancelled_at and clock.iso(settlement.cancelled_at)),
    ]
    return view | {name: value for name, value in known if value is not None}


def _head(settlement: Settlement, status: SettlementStatus, account: BankAccount | None) -> View:
    view: View = {
        "id": settlement.id,
        "reference": settlement.reference,
        "status": status,
        "amount": settlement.amount,
        "fee": settlement.fee,
        "netAmount": settlement.net_amount,
    }
    if account is not None:
        view["bankAccount"] = {
            "id": account.id,
            "bic": account.bic,
            "accountNumber": account.masked_number,
            "holderName": account.holder_name,
        }
    if settlement.order_reference is not None:
        view["orderReference"] = settlement.order_reference
    if settlement.scheduled_on is not None:
        view["scheduledOn"] = settlement.scheduled_on.isoformat()
    if settlement.is_adopted:
        view["adopted"] = True
    return view
