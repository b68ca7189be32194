"""Answers as objects: they know what they know, and a newer service breaks nothing."""

import copy
import pickle

import pytest
from malipo_client import Batch, Event, Transaction

NEW = {
    "id": "txn_1",
    "status": "COMPLETED",
    "netAmount": 975,
    "correction": {"amount": 5},
    "statusLogs": [{"status": "PENDING"}],
    "somethingNew": {"a": 1},
}


def test_fields_have_pythons_spelling_and_unknown_ones_are_there() -> None:
    payment = Transaction(NEW)
    assert (payment.id, payment.net_amount, payment.has_ended) == ("txn_1", 975, True)
    assert payment.correction is not None
    assert payment.correction.amount == 5
    assert [each.status for each in payment.status_logs or ()] == ["PENDING"]
    assert payment.something_new == {"a": 1}  # type: ignore[attr-defined]
    assert (payment.failure_code, payment.refunds, payment.type) == (None, None, "COLLECTION")
    with pytest.raises(AttributeError, match="no field 'amout'"):
        _ = payment.amout  # type: ignore[attr-defined]
    assert not hasattr(payment, "_private")


def test_they_cannot_be_changed_and_can_be_compared_copied_and_kept() -> None:
    payment = Transaction(NEW)
    with pytest.raises(AttributeError, match="cannot be changed"):
        payment.status = "FAILED"
    payment.to_dict()["status"] = "FAILED"
    assert payment.status == "COMPLETED"
    assert payment == Transaction(dict(NEW)) != Batch(NEW)
    assert len({payment, Transaction(dict(NEW))}) == 1
    for same in (copy.deepcopy(payment), copy.copy(payment), pickle.loads(pickle.dumps(payment))):  # noqa: S301 - ours
        assert same == payment
    assert "netAmount" in repr(payment)


@pytest.mark.parametrize(
    ("status", "has_ended"),
    [("PENDING", False), ("PROCESSING", False), ("COMPLETED", True), ("FAILED", True), ("CANCELLED", True)],
)
def test_a_payment_has_ended_in_three_ways(status: str, has_ended: bool) -> None:
    answer = Event({"transaction": {"status": status}}).transaction
    assert answer is not None
    assert answer.has_ended is has_ended
