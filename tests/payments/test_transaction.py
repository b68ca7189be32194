"""The table of transitions, compared with a grid written by hand from the specification."""

import itertools
from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.networks.connector import Channel
from malipo.payments.status_writer import StatusChange, after_change
from malipo.payments.transaction import TRANSITIONS, Cause, Refund, Status, Transaction, Type, next_status

# What each cause does in each status. "-" means that nothing happens.
GRID = """
    type          status      submitted   withdrawn  lapsed  unconnected  confirmed  refused
    COLLECTION    PENDING     PROCESSING  CANCELLED  FAILED  FAILED       -          -
    COLLECTION    PROCESSING  -           -          -       -            COMPLETED  FAILED
    COLLECTION    COMPLETED   -           -          -       -            -          -
    COLLECTION    FAILED      -           -          -       -            -          -
    COLLECTION    CANCELLED   -           -          -       -            -          -
    DISBURSEMENT  PENDING     PROCESSING  CANCELLED  -       FAILED       -          -
    DISBURSEMENT  PROCESSING  -           -          -       -            COMPLETED  FAILED
    DISBURSEMENT  COMPLETED   -           -          -       -            -          -
    DISBURSEMENT  FAILED      -           -          -       -            -          -
    DISBURSEMENT  CANCELLED   -           -          -       -            -          -
"""
HEADER, *ROWS = [line.split() for line in GRID.strip().splitlines()]
CELLS = [
    (Type(type_), Status(status), Cause(cause), None if cell == "-" else Status(cell))
    for type_, status, *cells in ROWS
    for cause, cell in zip(HEADER[2:], cells, strict=True)
]


@pytest.mark.parametrize(("type_", "status", "cause", "expected"), CELLS)
def test_a_cause_leads_where_the_grid_says(type_: Type, status: Status, cause: Cause, expected: Status | None) -> None:
    assert next_status(type_, status, cause) is expected


def test_the_grid_leaves_no_cell_out() -> None:
    assert {cell[:3] for cell in CELLS} == set(itertools.product(Type, Status, Cause))


def test_no_status_can_be_reached_twice() -> None:
    """So three times on the row are enough for the status log."""
    reached = {status: {after for (before, _), after in TRANSITIONS.items() if before is status} for status in Status}

    def all_after(status: Status) -> set[Status]:
        return reached[status].union(*(all_after(each) for each in reached[status]))

    assert all(status not in all_after(status) for status in Status)


def a_transaction(type_: Type = Type.COLLECTION, status: Status = Status.PENDING, fee: int = 0) -> Transaction:
    now = clock.now()
    return Transaction(
        merchant_id="mer_1",
        id="txn_1",
        reference="MLP-1",
        network_key="1",
        type=type_,
        channel=Channel.MPESA,
        status=status,
        amount=1000,
        fee=fee,
        phone="+255754000001",
        name="",
        description="",
        metadata={},
        created_at=now,
        processing_at=None if status in (Status.PENDING, Status.CANCELLED) else now + timedelta(seconds=1),
        ended_at=now + timedelta(seconds=2) if status.is_final else None,
        failure_code="declined" if status is Status.FAILED else None,
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.PENDING, ["PENDING"]),
        (Status.PROCESSING, ["PENDING", "PROCESSING"]),
        (Status.COMPLETED, ["PENDING", "PROCESSING", "COMPLETED"]),
        (Status.FAILED, ["PENDING", "PROCESSING", "FAILED"]),
        (Status.CANCELLED, ["PENDING", "CANCELLED"]),
    ],
)
def test_the_log_has_one_entry_for_each_status_reached(status: Status, expected: list[str]) -> None:
    log = list(a_transaction(status=status).status_log())
    assert [name for name, _ in log] == expected
    assert [moment for _, moment in log] == sorted(moment for _, moment in log)


def test_the_net_amount_is_what_the_receiving_side_gets() -> None:
    assert a_transaction(Type.COLLECTION, fee=30).net_amount == 970
    assert a_transaction(Type.DISBURSEMENT, fee=30).net_amount == 1000


@pytest.mark.parametrize("behind", [timedelta(0), timedelta(microseconds=1), timedelta(minutes=5)])
def test_a_status_is_never_dated_before_the_one_before_it_however_far_a_host_is_behind(behind: timedelta) -> None:
    created = clock.now()
    pending = replace(a_transaction(), created_at=created)
    ahead, after = created + timedelta(minutes=1), created - behind

    sent = after_change(pending, change_of(pending, Cause.SUBMITTED), after)
    assert sent is not None
    assert sent.processing_at == created
    late = after_change(pending, change_of(pending, Cause.SUBMITTED), ahead)
    assert late is not None
    assert late.processing_at == ahead
    paid = after_change(late, change_of(late, Cause.CONFIRMED), after)
    assert paid is not None
    assert paid.ended_at == ahead
    times = [at for _, at in paid.status_log()]
    assert times == sorted(times)


def change_of(transaction: Transaction, cause: Cause) -> StatusChange:
    return StatusChange(merchant_id=transaction.merchant_id, transaction_id=transaction.id, cause=cause)


@pytest.mark.parametrize("status", Status)
def test_only_a_completed_payment_has_a_time_of_completion(status: Status) -> None:
    payment = a_transaction(Type.COLLECTION, status)
    assert payment.completed_at == (payment.ended_at if status is Status.COMPLETED else None)


def test_a_search_reads_the_merchants_own_number_if_there_is_one() -> None:
    payment = replace(a_transaction(), name="ASHA")
    assert payment.search_text == "mlp-1\n+255754000001\nasha"
    assert replace(payment, order_reference="Order 7").search_text == f"{payment.search_text}\x1forder 7"


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("reported", [None, True, False])
def test_a_refund_was_never_sent_only_if_it_was_cancelled_and_nothing_was_reported_since(
    status: Status, reported: bool | None
) -> None:
    refund = Refund("txn_1", 1, 1000, status, reported)
    assert refund.was_never_sent is (status is Status.CANCELLED and reported is None)
