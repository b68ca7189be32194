"""Airtel's summary of transactions: what happened between two times, a page at a time.

It names payer and payee, and no direction. Amounts are text with groups; times are as a switch says.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from malipo_simulator.behaviour import PaymentKind
from malipo_simulator.gateways import airtel_rules as rules
from malipo_simulator.state import State
from malipo_simulator.statements.account import fee_of
from malipo_simulator.subscriber_names import subscriber_of
from malipo_simulator.switches import AirtelSwitches
from malipo_simulator.transaction import GatewayName, Transaction

MERCHANT_NUMBER = "684000000"
_MOST = 100  # on a page, whatever is asked for
_SERVICE = {PaymentKind.COLLECTION: "MERCHPAY", PaymentKind.DISBURSEMENT: "CASHIN"}


def summary(state: State, query: dict[str, str], switches: AirtelSwitches) -> dict[str, Any] | rules.Refused:
    """The page that a query asks for."""
    numbers: dict[str, int] = {}
    for name in ("from", "to", "limit", "offset"):
        text = query.get(name, "")
        if not (text.isascii() and text.isdecimal()):
            return rules.Refused("ESB000008", f"Field validation: {name}")
        numbers[name] = int(text)
    found = [each for each in _all(state, switches) if numbers["from"] <= each[0] <= numbers["to"]]
    found.sort(key=lambda each: each[0])
    page = found[numbers["offset"] :][: min(numbers["limit"], _MOST)]
    return {"count": len(found), "transactions": [each for _, each in page]}


def _all(state: State, switches: AirtelSwitches) -> Iterator[tuple[float, dict[str, Any]]]:
    """What moved, when it moved, and back; and what failed."""
    for movement in state.book:
        transaction = state.by_id[movement.transaction_id]
        if transaction.gateway is GatewayName.AIRTEL_MONEY:
            yield movement.at, _shown(transaction, switches, movement.at, is_reversal=movement.is_reversal)
    for transaction in state.by_id.values():
        is_over = transaction.outcome is not None and not transaction.has_moved
        if transaction.gateway is GatewayName.AIRTEL_MONEY and is_over and transaction.decided_at is not None:
            yield transaction.decided_at, _shown(transaction, switches, transaction.decided_at)


def _shown(
    transaction: Transaction, switches: AirtelSwitches, at: float, *, is_reversal: bool = False
) -> dict[str, Any]:
    merchant = {"currency": rules.CURRENCY, "msisdn": MERCHANT_NUMBER, "name": transaction.merchant}
    customer = {
        "currency": rules.CURRENCY,
        "msisdn": transaction.phone[4:],
        "name": subscriber_of(transaction.phone).name,
    }
    is_paid_to_us = (transaction.kind is PaymentKind.COLLECTION) != is_reversal
    fee = fee_of(transaction.gateway, transaction.kind, transaction.amount) if transaction.has_moved else 0
    return {
        "charges": {"service": "0" if is_reversal else f"{fee}.00"},
        "payee": merchant if is_paid_to_us else customer,
        "payer": customer if is_paid_to_us else merchant,
        "service": {"type": "ROLLBACK" if is_reversal else _SERVICE[transaction.kind]},
        "transaction": {
            "airtel_money_id": f"{transaction.receipt}R" if is_reversal else transaction.receipt,
            "amount": f"{transaction.amount:,}.00",
            "created_at": _time(at, switches.summary_times),
            "id": "" if is_reversal else transaction.reference,
            "reference_number": transaction.note,
            "status": "TS" if transaction.has_moved else "TF",
        },
    }


def _time(at: float, form: str) -> int | str:
    if form == "rfc3339":
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return int(at * 1000) if form == "milliseconds" else int(at)
