"""The status of a restored installation: its holds, and its open payments with what is known of them."""

from dataclasses import dataclass

from malipo.db import Conn
from malipo.installation.state import Installation
from malipo.installation.store import holds, installation
from malipo.installation.store.holds import Hold
from malipo.payments.store import dispatches
from malipo.payments.store.dispatches import OpenPayments


@dataclass(frozen=True, slots=True)
class Status:
    installation: Installation
    holds: list[Hold]
    open: list[OpenPayments]


async def find(connection: Conn) -> Status:
    return Status(
        await installation.get(connection),
        await holds.find_channel_holds(connection),
        await dispatches.find_open(connection),
    )
