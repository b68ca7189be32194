"""Stores the network of each log-in, and leaves the owner an alert if it is a new place."""

import ipaddress
from datetime import datetime, timedelta

from malipo.accounts.account import AccountOwner
from malipo.accounts.store import new_place_alerts
from malipo.audit_log import store as audit_log
from malipo.db import Tx
from malipo.http.user_agents import device_of
from malipo.messages import write
from malipo.messages.kinds import MessageKind

# A network that was not used for this long counts as new again; an alert that was not read for this long is not shown.
_REMEMBERED = timedelta(days=365)
ALERT_LIFE = timedelta(days=90)


async def note_login(
    tx: Tx, owner: AccountOwner, session_id: str, *, is_browser_known: bool, user_agent: str, now: datetime
) -> None:
    """Store the network of a log-in, in the commit that begins the session. The first log-in of an account causes no
    alert."""
    address = owner.actor.address
    network = network_of(address)
    is_new = await new_place_alerts.note_network(tx, owner.id, network, forget_before=now - _REMEMBERED, now=now)
    if not is_new or is_browser_known:
        return
    await new_place_alerts.insert_alert(tx, session_id, owner.id, address=address, user_agent=user_agent[:200], now=now)
    await audit_log.append(
        tx, owner.actor, "session.new_place", now=now, merchant_id=owner.merchant_id, network=network
    )
    browser, system = device_of(user_agent)
    facts = {"address": address, "browser": browser or "", "system": system or "", "happened_at": now.isoformat()}
    await write.to_account(tx, MessageKind.NEW_PLACE, owner.id, facts, now=now)


_PREFIXES = {4: 24, 6: 64}


def network_of(address: str) -> str:
    """The network of an address, such as `196.41.0.0/24`, because providers give their customers another address of it
    every day. A text that is no address counts as a network of its own."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, _PREFIXES[parsed.version]), strict=False))
