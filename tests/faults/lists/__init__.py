"""The list of faults, room by room."""

from tests.faults.fault import Fault
from tests.faults.lists import (
    access,
    bank,
    clients,
    collection_fast_path,
    doors,
    ledger,
    links,
    messages,
    networks,
    operators,
    pay_pages,
    payments,
    receipts,
    reconciliation,
    refunds,
    restore,
    retries_and_duplicates,
    sending,
    statements,
    webhooks,
)

_PARTS = (
    payments,
    pay_pages,
    collection_fast_path,
    retries_and_duplicates,
    refunds,
    links,
    messages,
    sending,
    networks,
    ledger,
    operators,
    statements,
    reconciliation,
    webhooks,
    restore,
    access,
    doors,
    clients,
    receipts,
    bank,
)
FAULTS: tuple[Fault, ...] = tuple(fault for part in _PARTS for fault in part.FAULTS)
