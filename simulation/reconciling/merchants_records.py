"""Whose wish a payment at a network is: what a merchant tells operators who telephone, from the merchant's own records.

Every wish has a phone of its own, but for twins; and a refund goes to the phone of its collection. A customer presses
at links of one merchant only.
"""

from dataclasses import dataclass

from malipo_simulator.statements.account import receipt_in_account
from malipo_simulator.transaction import Transaction
from simulation.batches.planned import PlannedBatch
from simulation.networks_book import Book
from simulation.plan import Plan, PlannedPayment, twins_of


@dataclass(frozen=True)
class Wish:
    merchant: int
    phone: str
    channel: str
    key: str | None  # the Idempotency-Key, if it is one request with one key
    is_refund: bool


class Wishes:
    def __init__(self, plan: Plan, batches: tuple[PlannedBatch, ...], book: Book) -> None:
        self._payments = {each.phone: each for each in plan.payments}
        self._items = {item.phone: batch for batch in batches for item in batch.items}
        self._customers = {
            phone: link.merchant
            for link in plan.links
            for each in link.customers
            for phone in (each.phone, each.other_phone)
        }
        self._twins = {each.key for each in twins_of(plan)}
        self._book = book

    def of_line(self, receipt: str, amount: int) -> Wish | None:
        """Of a line of a statement; None if it is nobody's, such as a fee, which has the receipt of its payment."""
        for each in self._book.transactions:
            if receipt_in_account(each) == receipt and each.amount == abs(amount):
                return self._of(each)
        return None

    def transactions_of(self, receipt: str) -> list[Transaction]:
        """What a network has decided about, and calls so."""
        return [
            each for each in self._book.transactions if each.outcome is not None and receipt_in_account(each) == receipt
        ]

    def _of(self, taken: Transaction) -> Wish:
        if taken.phone in self._items:
            return Wish(self._items[taken.phone].merchant, taken.phone, taken.channel, None, is_refund=False)
        if taken.phone in self._customers:
            return Wish(self._customers[taken.phone], taken.phone, taken.channel, None, is_refund=False)
        payment = self._payments[taken.phone]
        is_refund = payment.type == "COLLECTION" and taken.kind == "disbursement"
        key = _refund_key(payment, taken.amount) if is_refund else payment.key
        return Wish(payment.merchant, taken.phone, taken.channel, key, is_refund=is_refund)

    def merchant_of(self, phone: str) -> int:
        if phone in self._customers:
            return self._customers[phone]
        batch = self._items.get(phone)
        return self._payments[phone].merchant if batch is None else batch.merchant

    def is_another(self, key: str, phone: str, amount: int) -> bool:
        """Whether a payout that looks like one that was paid is another wish, and not its repeat."""
        payment = self._payments.get(phone)
        if payment is None or payment.type != "COLLECTION":
            return key in self._twins
        # The rest of a collection, or a refund by somebody who knows of no other: as far as something is left of it.
        is_new = key.partition("-")[0] in ("rest", "once")
        return is_new and self._book.paid_to(phone) + amount <= payment.amount


def _refund_key(payment: PlannedPayment, amount: int) -> str | None:
    match payment.refund:
        case "parts":
            return f"{'rest' if amount > payment.amount / 2 else 'part'}-{payment.number}"
        case "all" | "repeated":
            return f"return-{payment.number}"
    return None  # Two at once, or one after the other: nobody knows which.
