"""Notes from where somebody has logged in, and leaves them a message if it is a new place."""

import ipaddress
from datetime import datetime, timedelta

from malipo.accounts.account import AccountOwner
from malipo.accounts.store import new_place_alerts
from malipo.audit_log import store as audit_log
from malipo.db import Tx

# A network that was not used for so long is new again; a message that nobody has read for so long is not shown.
_REMEMBERED = timedelta(days=365)
ALERT_LIFE = timedelta(days=90)


async def note_login(
    tx: Tx, owner: AccountOwner, session_id: str, *, is_browser_known: bool, user_agent: str, now: datetime
) -> None:
    """In the commit that begins the session. The first log-in of all is from no new place."""
    address = owner.actor.address
    network = network_of(address)
    is_new = await new_place_alerts.note_network(tx, owner.id, network, forget_before=now - _REMEMBERED, now=now)
    if not is_new or is_browser_known:
        return
    await new_place_alerts.insert_alert(tx, session_id, owner.id, address=address, user_agent=user_agent[:200], now=now)
    await audit_log.append(
        tx, owner.actor, "session.new_place", now=now, merchant_id=owner.merchant_id, network=network
    )


_PREFIXES = {4: 24, 6: 64}


def network_of(address: str) -> str:
    """The network that an address counts as, such as `196.41.0.0/24`: providers give their customers another address
    of it every day. A text that is no address is a network of its own."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, _PREFIXES[parsed.version]), strict=False))
