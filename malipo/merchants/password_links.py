"""Makes the one-time links by which people choose a password. The holder of a link can take the account, so a link ends
early: with the session in which it was made, and with a change of the password, role or person on either side.
"""

from datetime import datetime

from malipo.accounts.store.credential_resets import PASSWORD
from malipo.accounts.tokens import LINK_LIFE, hash_of, make_secret
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, is_operator
from malipo.db import Tx
from malipo.errors import Invalid
from malipo.merchants import vouching
from malipo.merchants.people import Person
from malipo.merchants.store import password_links, people
from malipo.merchants.store.password_links import Maker
from malipo.merchants.store.sessions import MerchantSession


class LinkNotGood(Invalid):
    code = "link_invalid"

    def __init__(self) -> None:
        super().__init__("This link was used already, or is too old. Ask for a new one.")


async def make_link(
    tx: Tx, person: Person, *, actor: Actor, now: datetime, session: MerchantSession | None = None
) -> str:
    """Make a one-time link, which its maker hands over; malipo keeps its hash. Without a session, the maker is an
    operator.

    The maker could use the link, so the person does not count as a second person until somebody else vouches.
    """
    link = make_secret("mpl_")
    maker = Maker(operator=actor.name) if session is None else Maker(session.person.id, session.id)
    await people.lock(tx, person.id, *([maker.person_id] if maker.person_id is not None else []))
    await password_links.lock_all(tx, person.id)
    await password_links.insert(tx, hash_of(link), person.id, maker, now=now, expires_at=now + LINK_LIFE)
    await vouching.note_reset(tx, person, PASSWORD, actor=actor, now=now)
    await audit_log.append(tx, actor, "password_link.made", now=now, merchant_id=person.merchant_id, email=person.email)
    return link


async def judge_again(tx: Tx, person: Person, link_hash: bytes, *, now: datetime) -> None:
    """Judge a link again when it is used. If an operator made it before the merchant had money, or before another
    person of the merchant could log in, it counts as made now, and somebody else must vouch for the person."""
    operator = await password_links.find_unnoted_operator(tx, link_hash)
    if operator is not None and is_operator(operator):
        await vouching.note_reset(tx, person, PASSWORD, actor=Actor(operator, ""), now=now)
