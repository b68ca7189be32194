"""The contract in tables, copied by hand from the specification: which fields each place shows in each status."""

import re
from datetime import datetime
from typing import Any

import pytest

from malipo.payments.transaction import Status
from tests.conftest import COLLECTION, PAYOUT

TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")

EVERYWHERE = {"id", "reference", "amount", "fee", "netAmount", "channel", "status", "createdAt"}
BUYER = {"buyerPhone", "buyerName"}
RECIPIENT = {"recipientPhone", "recipientName"}

CREATED = {
    "COLLECTION": EVERYWHERE | BUYER | {"description"},
    "DISBURSEMENT": EVERYWHERE | RECIPIENT | {"description", "type"},
}
LISTED = {
    "COLLECTION": EVERYWHERE | {"type", "buyerName"},
    "DISBURSEMENT": EVERYWHERE | {"type"},
}
RETRIEVED = {
    "COLLECTION": EVERYWHERE | BUYER | {"type", "description", "metadata", "statusLogs"},
    "DISBURSEMENT": EVERYWHERE | RECIPIENT | {"type", "description", "metadata", "statusLogs"},
}
# What a status adds: to the list, and to a single transaction.
ADDED_TO_LISTED: dict[Status, set[str]] = {Status.COMPLETED: {"completedAt"}}
ADDED_TO_RETRIEVED: dict[Status, set[str]] = {
    Status.COMPLETED: {"completedAt", "providerReference"},
    Status.FAILED: {"failureCode", "failureReason"},
}
REACHED = {
    Status.PENDING: ["PENDING"],
    Status.PROCESSING: ["PENDING", "PROCESSING"],
    Status.COMPLETED: ["PENDING", "PROCESSING", "COMPLETED"],
    Status.FAILED: ["PENDING", "PROCESSING", "FAILED"],
    Status.CANCELLED: ["PENDING", "CANCELLED"],
}

BODIES: dict[str, dict[str, Any]] = {"COLLECTION": COLLECTION, "DISBURSEMENT": PAYOUT}
ROUTES = {"COLLECTION": "/v1/payments", "DISBURSEMENT": "/v1/payments/disburse"}
BOTH = pytest.mark.parametrize("type_", ["COLLECTION", "DISBURSEMENT"])


def moment(text: str) -> datetime:
    assert TIMESTAMP.fullmatch(text), text
    return datetime.fromisoformat(text)
