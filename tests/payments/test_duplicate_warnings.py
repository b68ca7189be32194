"""When somebody is warned that they ask or pay a second time: every case that there is."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.networks.connector import Channel
from malipo.payments.correction_moves import Correction
from malipo.payments.duplicate_warnings import RepeatKind, repeats_of
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.transaction import CorrectionNotice, CorrectionReason, Refund, Status, Transaction, Type

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
COLLECTION, PAYOUT = Type.COLLECTION, Type.DISBURSEMENT
PENDING, PROCESSING, COMPLETED, FAILED, CANCELLED = Status
UNDER_WAY, ORDER_UNDER_WAY, ORDER_PAID, PAID = RepeatKind
NUMBER, OTHER_NUMBER = "+255754000100", "+255754000101"


def payment(
    status: Status = PENDING,
    ago: timedelta = HOUR,
    *,
    number: str = NUMBER,
    amount: int = 25_000,
    order: str | None = None,
    type_: Type = COLLECTION,
    channel: Channel = Channel.MPESA,
) -> Transaction:
    return Transaction(
        merchant_id="mer_1",
        id=f"txn_{NOW - ago:%Y%m%d%H%M%S}",
        reference="MLP-1",
        network_key="1",
        type=type_,
        channel=channel,
        status=status,
        amount=amount,
        fee=0,
        phone=number,
        name="",
        description="",
        metadata={},
        created_at=NOW - ago,
        ended_at=NOW - ago if status.is_final else None,
        order_reference=order,
    )


def known(earlier: Transaction, *refunds: int, reported: bool | None = None) -> PaymentWithRefunds:
    correction = None
    if reported is not None:
        answer = CorrectionNotice(
            Status.COMPLETED if reported else FAILED, 25_000, NOW - HOUR, CorrectionReason.CREDITED
        )
        correction = Correction(is_paid=reported, is_fee_paid=reported, latest=answer)
    made = [Refund(f"txn_r{place}", place, amount, COMPLETED) for place, amount in enumerate(refunds)]
    return PaymentWithRefunds(earlier, correction, made)


DAY = timedelta(hours=24)
CASES = [
    # the same number and amount
    (known(payment(PENDING)), UNDER_WAY),
    (known(payment(PROCESSING)), UNDER_WAY),
    (known(payment(PROCESSING, 3 * DAY)), UNDER_WAY),
    (known(payment(PENDING, channel=Channel.TIGO_PESA)), UNDER_WAY),  # a number is one person on every network
    (known(payment(COMPLETED)), PAID),
    (known(payment(COMPLETED, DAY - HOUR)), PAID),
    (known(payment(COMPLETED, DAY)), None),
    (known(payment(FAILED)), None),
    (known(payment(CANCELLED)), None),
    # another number, another amount, the other way
    (known(payment(PENDING, number=OTHER_NUMBER)), None),
    (known(payment(PENDING, amount=25_001)), None),
    (known(payment(COMPLETED, number=OTHER_NUMBER)), None),
    (known(payment(PENDING, type_=PAYOUT)), None),
    # the same order
    (known(payment(PENDING, order="INV-1")), UNDER_WAY),
    (known(payment(PENDING, order="INV-1", number=OTHER_NUMBER, amount=700)), ORDER_UNDER_WAY),
    (known(payment(COMPLETED, order="INV-1")), ORDER_PAID),
    (known(payment(COMPLETED, 90 * DAY, order="INV-1", number=OTHER_NUMBER)), ORDER_PAID),
    (known(payment(FAILED, order="INV-1")), None),
    (known(payment(COMPLETED, 2 * DAY, order="INV-2")), None),
    (known(payment(COMPLETED, order="INV-1", type_=PAYOUT)), None),
    # given back
    (known(payment(COMPLETED, order="INV-1"), 25_000), None),
    (known(payment(COMPLETED, order="INV-1"), 10_000, 15_000), None),
    (known(payment(COMPLETED, order="INV-1"), 24_000), ORDER_PAID),
    (known(payment(COMPLETED), 25_000), None),
    # what its network has said since
    (known(payment(FAILED), reported=True), PAID),
    (known(payment(FAILED, 5 * DAY), reported=True), PAID),  # reported an hour ago
    (known(payment(CANCELLED, order="INV-1"), reported=True), ORDER_PAID),
    (known(payment(COMPLETED), reported=False), None),
]


@pytest.mark.parametrize(("earlier", "kind"), CASES)
def test_a_payment_is_warned_of_where_it_may_be_the_second(
    earlier: PaymentWithRefunds, kind: RepeatKind | None
) -> None:
    found = repeats_of(payment(order="INV-1"), [earlier], now=NOW)
    assert [each.kind for each in found] == ([] if kind is None else [kind])
    assert [each.is_under_way for each in found] == ([] if kind is None else [kind in (UNDER_WAY, ORDER_UNDER_WAY)])


@pytest.mark.parametrize(("status", "kind"), [(PROCESSING, UNDER_WAY), (COMPLETED, PAID), (FAILED, None)])
def test_payouts_are_warned_of_too(status: Status, kind: RepeatKind | None) -> None:
    found = repeats_of(payment(type_=PAYOUT), [known(payment(status, type_=PAYOUT))], now=NOW)
    assert [each.kind for each in found] == ([] if kind is None else [kind])


def test_payments_without_an_order_are_not_of_one_order() -> None:
    assert repeats_of(payment(), [known(payment(COMPLETED, number=OTHER_NUMBER))], now=NOW) == []


def test_a_warning_names_the_latest_payment_of_each_kind_and_those_under_way_first() -> None:
    older, newer = payment(COMPLETED, 2 * HOUR), payment(COMPLETED, HOUR)
    asked = payment(PENDING, 3 * HOUR)
    found = repeats_of(payment(), [known(older), known(newer), known(asked)], now=NOW)
    assert [(each.kind, each.earlier) for each in found] == [(UNDER_WAY, asked), (PAID, newer)]
