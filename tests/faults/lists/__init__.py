"""The list of faults, room by room."""

from tests.faults.fault import Fault
from tests.faults.lists import (
    access,
    again,
    clients,
    direct_collections,
    doors,
    ledger,
    networks,
    operators,
    payments,
    reconciliation,
    refunds,
    restore,
    sending,
    statements,
    webhooks,
)

_PARTS = (
    payments,
    direct_collections,
    again,
    refunds,
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
)
FAULTS: tuple[Fault, ...] = tuple(fault for part in _PARTS for fault in part.FAULTS)
