"""Finds the receipt of a payment: its present state, its facts, and the proof of each fact."""

from dataclasses import dataclass

from malipo.db import Conn
from malipo.errors import Missing
from malipo.payments.store import transactions
from malipo.payments.transaction import NoSuchTransaction, Status, Transaction
from malipo.receipts import receipt_link, tree_store
from malipo.receipts.fact import Kind, Merchant, decode
from malipo.receipts.pending_facts import pending
from malipo.receipts.proof_text import Proof
from malipo.receipts.store import facts, logs
from malipo.receipts.store.facts import KeptFact
from malipo.restore.store import installation


class NoReceipt(Missing):
    code = "receipt_not_found"

    def __init__(self) -> None:
        super().__init__("There is no receipt: this payment is not COMPLETED.")


@dataclass(frozen=True, slots=True)
class ProvenFact:
    kept: KeptFact
    proof: Proof | None  # None: no checkpoint covers it yet


@dataclass(frozen=True, slots=True)
class Receipt:
    payment: Transaction  # of a refund, the collection; with its refunds and its latest correction
    merchant: Merchant
    token: str  # in the address of its page
    facts: tuple[ProvenFact, ...]

    @property
    def pending(self) -> list[Kind]:
        """What it says that the log does not have yet. Of an erased receipt nothing is to come."""
        texts = [each.kept.fact for each in self.facts]
        return pending(self.payment, [decode(each) for each in texts if each is not None]) if all(texts) else []


async def find_receipt(connection: Conn, merchant_id: str, id_or_reference: str) -> Receipt:
    """Find a receipt inside a snapshot, because its parts must agree."""
    payment = await transactions.get(connection, merchant_id, id_or_reference)
    if payment is not None and payment.refund_of is not None:
        payment = await transactions.get(connection, merchant_id, payment.refund_of)
    if payment is None:
        raise NoSuchTransaction
    if not has_receipt(payment):
        raise NoReceipt
    secret = (await installation.get(connection)).key_secret
    return Receipt(
        payment,
        (await facts.find_merchants(connection, [merchant_id]))[merchant_id],
        receipt_link.token_of(secret, merchant_id, payment.id, payment.reference),
        tuple([await _prove(connection, each) for each in await facts.find(connection, merchant_id, payment.id)]),
    )


async def find_by_token(connection: Conn, token: str) -> Receipt | None:
    """Find a receipt by the token of its page, inside a snapshot. A wrong token is answered like an unknown one."""
    reference = receipt_link.reference_in(token)
    found = None if reference is None else await facts.find_payment(connection, reference)
    if found is None:
        return None
    secret = (await installation.get(connection)).key_secret
    if not receipt_link.is_valid(secret, token, *found):
        return None
    try:
        return await find_receipt(connection, *found)
    except Missing:
        return None


async def find_token(connection: Conn, payment: Transaction) -> str | None:
    """The token of the receipt's page, if it has one. A refund is on the page of its collection."""
    if not has_receipt(payment) or payment.refund_of is not None:
        return None
    secret = (await installation.get(connection)).key_secret
    return receipt_link.token_of(secret, payment.merchant_id, payment.id, payment.reference)


def has_receipt(payment: Transaction) -> bool:
    """Whether the payment was ever reported as paid. A later correction is on the receipt. Pure."""
    corrected = payment.correction
    return payment.status is Status.COMPLETED or (corrected is not None and corrected.outcome is Status.COMPLETED)


async def _prove(connection: Conn, kept: KeptFact) -> ProvenFact:
    log = await logs.find(connection, kept.place.log)
    published = await logs.find_published(connection, log=kept.place.log)
    if log is None or published is None or published.size <= kept.place.leaf:
        return ProvenFact(kept, None)
    path = await tree_store.find_inclusion_path(connection, log, kept.place.leaf, published.size)
    return ProvenFact(kept, Proof(kept.place.leaf, tuple(path), published.note))
