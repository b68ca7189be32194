"""Reconstructs the merchant's request for the lost payment of a line: its network key, its number, its collection, its
payment link.

A repeat of that request must find the adopted payment. So the adopted payment gets the network key on the line, or the
key derived from the merchant's Idempotency-Key, or from the collection that it refunds. If none of these is known, a
repeat is not recognized, and payouts that resemble the adopted one wait for operators.
"""

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from malipo import phone
from malipo.db import Tx
from malipo.errors import Conflict, Invalid
from malipo.links import lost_attempt
from malipo.links.lost_attempt import LostAttempt
from malipo.merchants import onboard
from malipo.networks.connector import Channel
from malipo.payments import idempotency, network_keys
from malipo.payments.batches.store import items
from malipo.payments.refunds import refund_network_keys, refundable
from malipo.payments.refunds.refund_network_keys import RefundKeys
from malipo.payments.store import adopted_payments, idempotency_keys, refunds, transactions
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.transaction import Transaction, Type
from malipo.reconciliation.exceptions.refusals import AdoptRefusal, MatchRefusal
from malipo.reconciliation.matching.carriers import aggregators, carrier_named
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.payment_times import NEAR
from malipo.reconciliation.matching.store import payments
from malipo.reconciliation.statements.choose_profile import all_profiles
from malipo.reconciliation.statements.store import statements
from malipo.restore.store import installation
from malipo.validation.typed_values import phone_of

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
    collection_id: str | None = None  # the collection that it refunds
    order_reference: str | None = None
    attempt: LostAttempt | None = None  # at a payment link

    @property
    def scope(self) -> str:
        """The scope of the idempotency key."""
        return self.type if self.collection_id is None else refund_network_keys.SCOPE


async def find_lost_request(tx: Tx, exception: ReconciliationException, terms: Mapping[str, str]) -> LostRequest:
    """Reconstruct the request from the line and the operators' terms. Refused if a payment of ours may be the
    line's."""
    # The words of the line do not matter: customers and merchants write some of them, and two operators decide.
    if exception.line_amount is None:
        raise Invalid(code=AdoptRefusal.NO_LINE)
    if exception.takes_back:
        raise Invalid(code=AdoptRefusal.TAKES_BACK)
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
        raise Invalid(code=AdoptRefusal.NEEDS_PHONE)
    await require_new(tx, exception, found)
    return found


async def _channel(tx: Tx, exception: ReconciliationException, named: str | None) -> Channel:
    """The channel of the line. In an aggregator's account, which has several channels, the one that operators name."""
    profile = (await all_profiles(tx)).get(await statements.find_profile_of(tx, exception.file_id or ""))
    carrier = ("" if profile is None else profile.carrier) or carrier_named(exception.account)
    if not carrier:
        if named not in (None, exception.channel):
            raise Invalid(code=AdoptRefusal.ONE_CHANNEL, channel=exception.channel)
        return exception.channel
    if named not in (served := aggregators()[carrier]):
        raise Invalid(code=AdoptRefusal.WHICH_CHANNEL, channels=served)
    return Channel(named)


async def _find_in_batch(
    tx: Tx, key: str | None, merchant_id: str, type_: Type, channel: Channel, amount: int
) -> LostRequest | None:
    """The request of a batch item, if the restore has lost the approval of that batch; the batch still has the whole
    request. None if the key is not that of such an item."""
    found = None if key is None else await items.find_by_network_key(tx, key)
    if found is None:
        return None
    owner, item = found
    if (owner, Type.DISBURSEMENT, item.channel, item.amount) != (merchant_id, type_, channel, amount):
        raise Invalid(code=AdoptRefusal.OF_BATCH, merchant=owner, amount=item.amount, channel=item.channel)
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
    state = await installation.get(tx)
    if (refund := await _as_refund(tx, lost, refund_of, RefundKeys.of(state), exception)) is not None:
        return refund
    if lost.idempotency_key is None and (attempt := await _attempt(tx, lost, state.key_secret, exception)) is not None:
        return replace(lost, attempt=attempt, order_reference=attempt.order_reference, is_repeat_recognized=True)
    if lost.idempotency_key is None:
        # Without a key on the line, one is generated with the payment. The key on the line may be a random one.
        return lost
    derived = network_keys.derive(state.key_secret, lost.merchant_id, lost.type, lost.idempotency_key)
    if has_line_key and derived != lost.network_key:
        raise Invalid(code=AdoptRefusal.OTHER_KEY, header=idempotency.HEADER, key=lost.network_key)
    return replace(lost, network_key=derived, is_repeat_recognized=True)


async def _attempt(tx: Tx, lost: LostRequest, secret: bytes, exception: ReconciliationException) -> LostAttempt | None:
    """The attempt at a payment link that has the key on the line."""
    if lost.type is not Type.COLLECTION or not lost.network_key or not lost.phone:
        return None
    assert exception.moved_at is not None
    return await lost_attempt.find(
        tx, secret, lost.merchant_id, lost.phone, lost.amount, lost.network_key, paid_at=exception.moved_at
    )


async def _as_refund(
    tx: Tx, lost: LostRequest, refund_of: str | None, keys: RefundKeys, exception: ReconciliationException
) -> LostRequest | None:
    """The request as a refund, with its key, number and collection; None if it is no refund."""
    if lost.type is Type.COLLECTION:
        if refund_of:
            raise Invalid(code=AdoptRefusal.NO_REFUND)
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
            if not refunded.payment.status.is_final:
                raise Conflict(code=AdoptRefusal.COLLECTION_OPEN, payment=collection.reference)
            if (refusal := _why_no_refund(refunded, lost.amount)) is not None:
                if named is None:
                    return None  # It is a payout: the merchant did not have this collection's money.
                raise refusal
            is_recognized = lost.idempotency_key is not None
            return replace(
                lost,
                network_key=key,
                collection_id=collection.id,
                phone=collection.phone,
                name=lost.name or collection.name,
                is_repeat_recognized=is_recognized,
            )
    if named is not None:
        raise Invalid(code=AdoptRefusal.REFUND_KEY, key=lost.network_key, payment=named.reference)
    return None


def _why_no_refund(refunded: PaymentWithRefunds, amount: int) -> Conflict | None:
    collection, correction, known = refunded
    if not refundable.has_the_money(collection, correction):
        return Conflict(code=AdoptRefusal.COLLECTION_NOT_PAID, payment=collection.reference)
    if refundable.left_of(collection, known) < amount:
        return Conflict(code=AdoptRefusal.COLLECTION_USED_UP, payment=collection.reference)
    return None


async def _named_collection(tx: Tx, lost: LostRequest, refund_of: str) -> Transaction:
    found = await payments.find(tx, refund_of)
    if found is None or (found.merchant_id, found.type) != (lost.merchant_id, Type.COLLECTION):
        raise Invalid(code=AdoptRefusal.NO_COLLECTION, name=refund_of)
    if found.channel != lost.channel or (lost.phone and lost.phone != found.phone):
        number = phone.mask(found.phone)
        raise Invalid(
            code=AdoptRefusal.REFUND_GOES_ELSEWHERE, payment=found.reference, phone=number, channel=found.channel
        )
    return found


def _idempotency_key(terms: Mapping[str, str]) -> str | None:
    key = terms.get("idempotency_key") or None
    if key is not None and idempotency.problem_with(key):
        raise Invalid(code=AdoptRefusal.KEY_INVALID, header=idempotency.HEADER)
    return key


def _typed_phone(typed: str, on_line: str) -> str:
    """The full number, as operators typed it or as the line has it; empty if neither has it."""
    number = phone_of(typed or on_line)
    if not phone.is_valid(number):
        if typed:
            raise Invalid(code=AdoptRefusal.NO_PHONE)
        return ""
    if not fits(number, on_line):
        raise Invalid(code=AdoptRefusal.OTHER_PHONE, on_line=on_line)
    return number


def fits(number: str, masked: str) -> bool:
    """Whether a number fits the one in a network's text, which may have stars for some digits. Pure."""
    if not any(character.isdigit() for character in masked):
        return True
    first, _, last = _STARS.sub("*", masked.strip().removeprefix("+")).partition("*")
    if not _STARS.search(masked):
        return phone_of(masked) == number
    ways = (number.removeprefix("+"), "0" + number.removeprefix("+255"), number.removeprefix("+255"))
    return any(way.startswith(first) and way.endswith(last) for way in ways)


def _why_not_new(payment: Transaction, exception: ReconciliationException) -> Conflict:
    if payment.amount == abs(exception.line_amount or 0):
        return Conflict(code=MatchRefusal.ANOTHER_HAS_KEY, payment=payment.reference)
    return Conflict(code=AdoptRefusal.KEY_OF_OTHER_AMOUNT, payment=payment.reference, amount=payment.amount)


async def require_new(tx: Tx, exception: ReconciliationException, lost: LostRequest) -> None:
    """Refuse the adoption if a payment has this key or this receipt, or may be the repeat of the request."""
    for key in {lost.network_key, exception.key or ""} - {""}:
        if (known := await transactions.find_by_network_key(tx, key)) is not None:
            adopted = await adopted_payments.find(tx, known.merchant_id, known.id)
            # A line that was withdrawn and imported again is recognized by its receipt.
            is_of_line = known.provider_reference == exception.receipt
            if adopted is None or not adopted.is_undone or not is_of_line:
                raise _why_not_new(known, exception)
    assert exception.moved_at is not None
    assert exception.receipt is not None
    if (known := await payments.find_by_receipt(tx, exception.receipt, since=exception.moved_at)) is not None:
        raise Conflict(code=MatchRefusal.ANOTHER_HAS_RECEIPT, payment=known.reference)
    if lost.idempotency_key is not None:
        used = (lost.merchant_id, lost.scope, lost.idempotency_key)
        if (record := (await idempotency_keys.find(tx, [used])).get(used)) is not None:
            raise Conflict(code=AdoptRefusal.KEY_USED, payment=record[1].reference, header=idempotency.HEADER)
    # The key on the line may be random, because its request had no Idempotency-Key.
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
            # If the merchant's Idempotency-Key is known, a payment under another key is another request.
            or_failed=lost.idempotency_key is None,
        )
        if known is not None:
            raise Conflict(code=AdoptRefusal.LIKE_IT, payment=known.reference, header=idempotency.HEADER)
