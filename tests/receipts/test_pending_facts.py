"""What a receipt says and its log does not have yet: by a table."""

from datetime import UTC, datetime

import msgspec

from malipo import clock
from malipo.networks.connector import Type
from malipo.payments.transaction import CorrectionNotice, CorrectionReason, Refund, Status
from malipo.receipts.fact import Fact, Kind
from malipo.receipts.pending_facts import pending
from tests.journeys.concurrency import order

T1, T2 = datetime(2026, 11, 15, 8, tzinfo=UTC), datetime(2026, 11, 15, 9, tzinfo=UTC)
COMPLETED, REFUNDED, CORRECTED = Kind.COMPLETED, Kind.REFUNDED, Kind.CORRECTED


def fact(
    kind: Kind, *, refund: str | None = None, outcome: str | None = None, ordinal: int = 1, at: datetime = T1
) -> Fact:
    return Fact(
        fact=kind,
        version=1,
        amount=1000,
        at=clock.iso(at),
        channel="MPESA",
        currency="TZS",
        merchant="mer_1",
        merchant_name="Duka",
        payment="txn_1",
        phone="+2557*****100",
        reference="MLP-1",
        type="COLLECTION",
        refund=refund,
        outcome=outcome,
        ordinal=ordinal if kind is CORRECTED else None,
    )


DONE = fact(COMPLETED)


def given(
    *, refund: Refund | None = None, corrected: tuple[Status, datetime] | None = None, facts: list[Fact]
) -> list[Kind]:
    notice = (
        None if corrected is None else CorrectionNotice(corrected[0], 1000, corrected[1], CorrectionReason.CREDITED)
    )
    draft = order("mer_1", Type.COLLECTION, 5000).draft
    assert draft is not None
    refunds = () if refund is None else (refund,)
    return pending(msgspec.structs.replace(draft, refunds=refunds, correction=notice), facts)


def refund(status: Status, *, is_reported_paid: bool | None = None) -> Refund:
    return Refund("txn_r", 1, 1000, status, is_reported_paid)


def test_without_a_fact_nothing_is_proven_and_nothing_is_said() -> None:
    assert given(refund=refund(Status.COMPLETED), corrected=(Status.FAILED, T1), facts=[]) == []


def test_refunds() -> None:
    back, failed = fact(REFUNDED, refund="txn_r"), fact(CORRECTED, refund="txn_r", outcome="FAILED")
    again = fact(CORRECTED, refund="txn_r", outcome="COMPLETED", ordinal=2)
    table = [
        (refund(Status.PROCESSING), [DONE], []),
        (refund(Status.COMPLETED), [DONE], [REFUNDED]),
        (refund(Status.COMPLETED), [DONE, back], []),
        (refund(Status.COMPLETED, is_reported_paid=False), [DONE, back], [CORRECTED]),
        (refund(Status.COMPLETED, is_reported_paid=False), [DONE, back, failed], []),
        (refund(Status.COMPLETED, is_reported_paid=True), [DONE, back, failed], [CORRECTED]),
        (refund(Status.COMPLETED, is_reported_paid=True), [DONE, back, failed, again], []),
        # They need not stand in their order: events of before the log are read last.
        (refund(Status.COMPLETED, is_reported_paid=True), [DONE, again, back, failed], []),
        (refund(Status.FAILED, is_reported_paid=True), [DONE], [REFUNDED]),
        (refund(Status.FAILED, is_reported_paid=True), [DONE, again], []),
    ]
    for number, (state, facts, expected) in enumerate(table):
        assert given(refund=state, facts=facts) == expected, number


def test_corrections_of_the_payment_itself() -> None:
    first, second = fact(CORRECTED, outcome="FAILED"), fact(CORRECTED, outcome="FAILED", ordinal=2, at=T2)
    of_refund = fact(CORRECTED, refund="txn_other", outcome="FAILED", at=T1)
    table = [
        ((Status.FAILED, T1), [DONE], [CORRECTED]),
        ((Status.FAILED, T1), [DONE, of_refund], [CORRECTED]),
        ((Status.FAILED, T1), [DONE, first], []),
        ((Status.FAILED, T2), [DONE, first], [CORRECTED]),
        ((Status.COMPLETED, T1), [DONE, first], [CORRECTED]),
        ((Status.FAILED, T2), [DONE, second, first], []),
    ]
    for number, (corrected, facts, expected) in enumerate(table):
        assert given(corrected=corrected, facts=facts) == expected, number
