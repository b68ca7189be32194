"""The attempt at a link that a restore has lost, when operators adopt its payment from a statement.

Its network key was derived from its link, its number and how many attempts the number had made. So the link is the one
for which the key on the line comes out. Without this nobody would know that the link was paid, and it could be paid
again.
"""

from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.links.attempt_key import network_key_of
from malipo.links.store import lost_attempts
from malipo.links.store.links import lock
from malipo.links.store.lost_attempts import PossibleLink

# The attempts of a number after the last one that the database has. A number has more at one link only if it was asked
# without paying for more than a day.
_FURTHER = 5


class LostAttempt(msgspec.Struct, frozen=True):
    merchant_id: str
    link_id: str
    phone: str
    ordinal: int
    order_reference: str | None


async def find(
    connection: Conn, secret: bytes, merchant_id: str, phone: str, amount: int, network_key: str, *, paid_at: datetime
) -> LostAttempt | None:
    """The lost attempt that has this network key; None if it is of no link of this merchant that we know."""
    possible = await lost_attempts.find_possible_links(connection, merchant_id, phone, amount, paid_at=paid_at)
    for link in possible:
        if (ordinal := _ordinal_of(secret, merchant_id, link, phone, amount, network_key)) is not None:
            return LostAttempt(merchant_id, link.id, phone, ordinal, link.order_reference)
    return None


def _ordinal_of(
    secret: bytes, merchant_id: str, link: PossibleLink, phone: str, amount: int, network_key: str
) -> int | None:
    typed = amount if link.is_amount_typed else None
    return next(
        (
            ordinal
            for ordinal in range(1, link.last_ordinal + _FURTHER + 1)
            if network_key_of(secret, merchant_id, link.code, phone, ordinal, typed) == network_key
        ),
        None,
    )


async def lock_link(tx: Tx, lost: LostAttempt) -> None:
    """Lock its link until the commit, before any payment or wallet is locked: presses wait, and see the attempt."""
    await lock(tx, lost.merchant_id, lost.link_id)


async def write(tx: Tx, lost: LostAttempt, transaction_id: str) -> None:
    """Write the attempt of the adopted payment. The caller has locked the link."""
    await lost_attempts.insert(tx, (lost.merchant_id, lost.link_id), lost.phone, lost.ordinal, transaction_id)
