"""Finds out what the merchant had asked for when the payment of a line was lost: its key, its number, its collection.

An adopted payment must be the one that a repeat of that request finds. So its network key is the one on the line, or
follows from the merchant's Idempotency-Key, or from the collection that it refunds. Where none of these is known, a
repeat is not recognized, and payouts like it wait for operators.
"""

import re
from collections.abc import Mapping

import msgspec

from malipo import money, phone
from malipo.db import Tx
from malipo.errors import Conflict, Invalid
from malipo.merchants import onboard
from malipo.networks.connector import Channel
from malipo.payments import idempotency, network_keys
from malipo.payments.batches.store import items
from malipo.payments.refunds import refund_keys, refundable
from malipo.payments.refunds.refund_keys import RefundKeys
from malipo.payments.store import adopted_payments, idempotency_keys, refunds, transactions
from malipo.payments.store.refunds import RefundedCollection
from malipo.payments.transaction import Transaction, Type
from malipo.reconciliation.matching.carriers import aggregators, carrier_named
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.payment_times import NEAR
from malipo.reconciliation.matching.store import payments
from malipo.reconciliation.statements.choose_profile import all_profiles
from malipo.reconciliation.statements.store import statements
from malipo.restore.store import installation
from malipo.validation.fields import phone_of

_STARS = re.compile(r"[*xX]+")


class LostRequest(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    type: Type
    channel: Channel
    amount: int
    phone: str
    name: str
    network_key: str
    is_repeat_recognized: bool  # by its network key or its idempotency key
    idempotency_key: str | None = None
    collection_id: str | None = None  # that it refunds
    order_reference: str | None = None

    @property
    def scope(self) -> str:
        """Of the idempotency key."""
        return self.type if self.collection_id is None else refund_keys.SCOPE


async def find_lost_request(tx: Tx, exception: ReconciliationException, terms: Mapping[str, str]) -> LostRequest:
    """By the line and what operators say. Refused if a payment of ours may be the line's."""
    # Whatever the words of the line are: customers and merchants write some of them, and two operators decide.
    if exception.line_amount is None:
        raise Invalid("Only a line can be adopted.")
    if exception.takes_back:
        raise Invalid("This line takes another one back: it is no payment. Book it.")
    merchant_id = await onboard.find_merchant(tx, terms["merchant"])
    channel = await _channel(tx, exception, terms.get("channel"))
    type_ = Type.COLLECTION if exception.line_amount > 0 else Type.DISBURSEMENT
    amount = abs(exception.line_amount)
    on_line = network_keys.key_in(exception.key or "")
    found = await _find_in_batch(tx, on_line, merchant_id, type_, channel, amount)
    if found is None:
        typed = _typed_phone(terms.get("phone", ""), exception.phone or "")
        lost = LostRequest(
            merchant_id=merchant_id,
            type=type_,
            channel=channel,
            amount=amount,
            phone=typed,
            name=terms.get("name", ""),
            network_key=on_line or "",
            is_repeat_recognized=False,
            idempotency_key=_idempotency_key(terms),
        )
        found = await _with_key(tx, lost, terms.get("refund_of"), has_line_key=on_line is not None, exception=exception)
    if not found.phone:
        raise Invalid("Give the customer's phone number in full: the line does not have it.")
    await require_new(tx, exception, found)
    return found


async def _channel(tx: Tx, exception: ReconciliationException, named: str | None) -> Channel:
    """The line's; in the account of an aggregator, which serves several, the one that operators name."""
    profile = (await all_profiles(tx)).get(await statements.find_profile_of(tx, exception.file_id or ""))
    carrier = ("" if profile is None else profile.carrier) or carrier_named(exception.account)
    if not carrier:
        if named not in (None, exception.channel):
            raise Invalid(f"This account is one of {exception.channel} alone.")
        return exception.channel
    if named not in (served := aggregators()[carrier]):
        raise Invalid(f"This account serves several channels. Say which: {', '.join(served)}.")
    return Channel(named)


async def _find_in_batch(
    tx: Tx, key: str | None, merchant_id: str, type_: Type, channel: Channel, amount: int
) -> LostRequest | None:
    """The line of a batch whose approval was lost. The batch has everything that was asked for."""
    found = None if key is None else await items.find_by_network_key(tx, key)
    if found is None:
        return None
    owner, item = found
    if (owner, Type.DISBURSEMENT, item.channel, item.amount) != (merchant_id, type_, channel, amount):
        raise Invalid(
            f"The key is that of a line in a batch of merchant {owner}: a payout of {money.display(item.amount)} on "
            f"{item.channel}."
        )
    return LostRequest(
        merchant_id=merchant_id,
        type=type_,
        channel=channel,
        amount=amount,
        phone=item.phone,
        name=item.name,
        network_key=item.network_key,
        is_repeat_recognized=True,
        collection_id=item.refund_of,
        order_reference=item.order_reference,
    )


async def _with_key(
    tx: Tx, lost: LostRequest, refund_of: str | None, *, has_line_key: bool, exception: ReconciliationException
) -> LostRequest:
    standing = await installation.get(tx)
    if (refund := await _as_refund(tx, lost, refund_of, RefundKeys.of(standing), exception)) is not None:
        return refund
    if lost.idempotency_key is None:
        # A key that is not on the line is made when the payment is. A key that is on it may be a random one.
        return lost
    derived = network_keys.derive(standing.key_secret, lost.merchant_id, lost.type, lost.idempotency_key)
    if has_line_key and derived != lost.network_key:
        raise Invalid(
            f"That {idempotency.HEADER} of this merchant does not give the key on the line, {lost.network_key}: "
            "another merchant, or another request."
        )
    return msgspec.structs.replace(lost, network_key=derived, is_repeat_recognized=True)


async def _as_refund(
    tx: Tx, lost: LostRequest, refund_of: str | None, keys: RefundKeys, exception: ReconciliationException
) -> LostRequest | None:
    """With the key, the number and the collection of a refund; None if it is none."""
    if lost.type is Type.COLLECTION:
        if refund_of:
            raise Invalid("Money came in: this is no refund.")
        return None
    named = None if not refund_of else await _named_collection(tx, lost, refund_of)
    assert exception.moved_at is not None
    if named is not None:
        candidates = [named]
    elif lost.network_key and lost.phone:
        candidates = await payments.find_refundable(
            tx, lost.merchant_id, lost.channel, lost.phone, least=lost.amount, before=exception.moved_at
        )
    else:
        return None
    for collection in candidates:
        of = (lost.merchant_id, collection.id)
        key = lost.network_key or keys.next_key(collection, (await refunds.find_keys(tx, [of]))[of])
        if keys.is_key_of(collection, key):
            refunded = (await refunds.find(tx, [of]))[of]
            if not refunded.collection.status.is_final:
                raise Conflict(f"{collection.reference} has not ended. Adopt its refund when its network has told how.")
            if (refusal := _why_no_refund(refunded, lost.amount)) is not None:
                if named is None:
                    return None  # A payout: the merchant gave back what they did not have.
                raise refusal
            is_recognized = lost.idempotency_key is not None
            return msgspec.structs.replace(
                lost,
                network_key=key,
                collection_id=collection.id,
                phone=collection.phone,
                name=lost.name or collection.name,
                is_repeat_recognized=is_recognized,
            )
    if named is not None:
        raise Invalid(f"The key on the line, {lost.network_key}, is not that of a refund of {named.reference}.")
    return None


def _why_no_refund(refunded: RefundedCollection, amount: int) -> Conflict | None:
    collection, correction, known = refunded
    if not refundable.has_the_money(collection, correction):
        return Conflict(f"{collection.reference} was not paid, or was taken back. Adopt this line as a payout.")
    if refundable.left_of(collection, known) < amount:
        return Conflict(f"Less than this is left of {collection.reference}. Adopt this line as a payout.")
    return None


async def _named_collection(tx: Tx, lost: LostRequest, refund_of: str) -> Transaction:
    found = await payments.find(tx, refund_of)
    if found is None or (found.merchant_id, found.type) != (lost.merchant_id, Type.COLLECTION):
        raise Invalid(f"This merchant has no collection {refund_of!r}.")
    if found.channel != lost.channel or (lost.phone and lost.phone != found.phone):
        raise Invalid(f"A refund of {found.reference} goes to {phone.mask(found.phone)} on {found.channel}.")
    return found


def _idempotency_key(terms: Mapping[str, str]) -> str | None:
    key = terms.get("idempotency_key") or None
    if key is not None and (problem := idempotency.problem_with(key)):
        raise Invalid(problem)
    return key


def _typed_phone(typed: str, on_line: str) -> str:
    """The number in full, as operators typed it or as the line has it; empty if neither has."""
    number = phone_of(typed or on_line)
    if not phone.is_valid(number):
        if typed:
            raise Invalid("That is no phone number: +255, then 6 or 7, then eight digits.")
        return ""
    if not fits(number, on_line):
        raise Invalid(f"That phone number is not the line's, {on_line}.")
    return number


def fits(number: str, masked: str) -> bool:
    """Whether a number may be the one that a network wrote, with stars for some of its digits. Pure."""
    if not any(character.isdigit() for character in masked):
        return True
    first, _, last = _STARS.sub("*", masked.strip().removeprefix("+")).partition("*")
    if not _STARS.search(masked):
        return phone_of(masked) == number
    ways = (number.removeprefix("+"), "0" + number.removeprefix("+255"), number.removeprefix("+255"))
    return any(way.startswith(first) and way.endswith(last) for way in ways)


def _why_not_new(known: Transaction, exception: ReconciliationException) -> str:
    if known.amount == abs(exception.line_amount or 0):
        return f"{known.reference} has this key. If it is this payment, match the line with it."
    return (
        f"{known.reference} has this key, and another amount, TZS {known.amount:,}. The line is of a payment that was "
        f"lost, and {known.reference} got its key. Book the line to suspense, and settle it with the merchant."
    )


async def require_new(tx: Tx, exception: ReconciliationException, lost: LostRequest) -> None:
    """Refused if a payment has this key or this receipt, or may be the repeat of the request."""
    for key in {lost.network_key, exception.key or ""} - {""}:
        if (known := await transactions.find_by_network_key(tx, key)) is not None:
            adopted = await adopted_payments.find(tx, known.merchant_id, known.id)
            # The line may have been withdrawn and imported again: its receipt says that it is the same.
            is_of_line = known.provider_reference == exception.receipt
            if adopted is None or not adopted.is_undone or not is_of_line:
                raise Conflict(_why_not_new(known, exception))
    assert exception.moved_at is not None
    assert exception.receipt is not None
    if (known := await payments.find_by_receipt(tx, exception.receipt, since=exception.moved_at)) is not None:
        raise Conflict(f"{known.reference} has this receipt. If it is this payment, match the line with it.")
    if lost.idempotency_key is not None:
        used = (lost.merchant_id, lost.scope, lost.idempotency_key)
        if (record := (await idempotency_keys.find(tx, [used])).get(used)) is not None:
            raise Conflict(f"{record[1].reference} was made with that {idempotency.HEADER}.")
    # A key on the line may be a random one, of a payout that was asked for without an Idempotency-Key.
    may_be_repeated = lost.type is Type.DISBURSEMENT and not lost.is_repeat_recognized and lost.collection_id is None
    if may_be_repeated or network_keys.key_in(exception.key or "") is None:
        known = await payments.find_like(
            tx,
            lost.merchant_id,
            lost.type,
            lost.channel,
            lost.phone,
            lost.amount,
            receipt=exception.receipt,
            since=exception.moved_at - NEAR,
            # With the merchant's Idempotency-Key it is known that one under another key is another request.
            or_failed=lost.idempotency_key is None,
        )
        if known is not None:
            raise Conflict(
                f"{known.reference} has the same number and amount, and no line. It may be this payment, or a repeat "
                "of it: match the line with it, or settle it first. If it is another one, give the merchant's "
                f"{idempotency.HEADER}."
            )
