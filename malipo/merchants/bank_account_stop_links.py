"""Makes the single-use links by which those who get an e-mail about a bank account can stop it, also when they can no
longer log in. A link can do nothing else: its holder can keep money in the wallet, never take it.

Opening a link changes nothing (`find`): the programs that look at e-mails before people do open all of them.
"""

from datetime import datetime, timedelta

from malipo.accounts.tokens import hash_of, make_secret
from malipo.db import Conn, Tx
from malipo.merchants.store import bank_account_stop_links
from malipo.merchants.store.bank_account_stop_links import StopLink
from malipo.messages.message import Message
from malipo.messages.store import messages

LIFE = timedelta(days=30)


async def link_of_message(tx: Tx, message: Message, *, now: datetime) -> tuple[str, datetime] | None:
    """Make the link of a message that is being sent, and when it ends. None if the message must not be sent any more.

    Each attempt makes another link, because only its hash is kept; all of them work until one is used.
    """
    bank_account = message.facts["bank_account"]
    if not await messages.lock_waiting(tx, message.id) or message.merchant_id is None:
        return None
    link, expires_at = make_secret("msl_"), now + LIFE
    stop = StopLink(message.merchant_id, str(bank_account), message.recipient.address, message.recipient.name)
    await bank_account_stop_links.insert(tx, hash_of(link), stop, message_id=message.id, now=now, expires_at=expires_at)
    return link, expires_at


async def find(connection: Conn, link: str, *, now: datetime) -> StopLink | None:
    """The bank account that a link can stop, and whom it was sent to. None if it was used or is too old."""
    return await bank_account_stop_links.find(connection, hash_of(link), now=now)


async def use(tx: Tx, link: str, *, now: datetime) -> StopLink | None:
    """Use a link up, in the commit that stops the account, with all others to the same person for the same account."""
    return await bank_account_stop_links.use(tx, hash_of(link), now=now)
