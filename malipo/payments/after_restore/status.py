"""The status of a restored installation: its holds, and its open payments with what is known of them."""

from dataclasses import dataclass

from malipo.db import Conn
from malipo.payments.store import asked_first
from malipo.payments.store.asked_first import OpenPayments
from malipo.restore.installation import Installation
from malipo.restore.store import installation
from malipo.restore.store.installation import Hold


@dataclass(frozen=True, slots=True)
class RestoreStatus:
    installation: Installation
    holds: list[Hold]
    open: list[OpenPayments]


async def find(connection: Conn) -> RestoreStatus:
    return RestoreStatus(
        await installation.get(connection),
        await installation.find_channel_holds(connection),
        await asked_first.find_open(connection),
    )
