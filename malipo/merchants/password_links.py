"""Makes the one-time links by which people choose a password. The holder of a link can take the account, so a link ends
early: with the session in which it was made, and with a change of the password, role or person on either side.

A link can also be sent by e-mail. Then it is made when the message is sent, and its maker never sees it. Nobody can ask
for one without an owner or an operator.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo.accounts.store.credential_resets import PASSWORD
from malipo.accounts.tokens import LINK_LIFE, hash_of, make_secret
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, is_operator, plain_name
from malipo.db import Tx
from malipo.email_address import is_mailable
from malipo.errors import Code, Conflict, Invalid
from malipo.merchants import four_eyes
from malipo.merchants.people import Person
from malipo.merchants.store import password_links, people
from malipo.merchants.store.password_links import Maker
from malipo.merchants.store.sessions import MerchantSession
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.message import Message
from malipo.messages.store import messages

# Of invitations and links for passwords in a day, so that nobody can have us flood a stranger.
MOST_TO_ADDRESS = 3
MOST_OF_MERCHANT = 50


class MailRefusal(Code):
    NOT_MAILABLE = "email_not_mailable"
    TOO_MANY = "too_many_mails"


class NotMailable(Conflict):
    """No message can be sent to this email: hand the link over."""


class TooManyMails(Conflict):
    """This address, or all addresses of this merchant together, were sent enough links today."""


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
    await four_eyes.note_reset(tx, person, PASSWORD, actor=actor, now=now)
    await audit_log.append(tx, actor, "password_link.made", now=now, merchant_id=person.merchant_id, email=person.email)
    return link


async def mail_link(
    tx: Tx,
    person: Person,
    *,
    business: str,
    actor: Actor,
    now: datetime,
    session: MerchantSession | None = None,
) -> None:
    """Write a message to a person that gets a one-time link when it is sent. Without a session, the maker is an
    operator.

    The person does not count as a second person until somebody else vouches, as with a link that is handed over: who
    made it has chosen the address, or may read the mail server's messages.
    """
    maker = Maker(operator=actor.name) if session is None else Maker(session.person.id, session.id)
    await people.lock(tx, person.id, *([maker.person_id] if maker.person_id is not None else []))
    if not is_mailable(person.email):
        raise NotMailable(code=MailRefusal.NOT_MAILABLE, email=person.email)
    to_address, of_merchant = await messages.count_links(
        tx, person.email, person.merchant_id, since=now - timedelta(days=1)
    )
    if to_address >= MOST_TO_ADDRESS or of_merchant >= MOST_OF_MERCHANT:
        raise TooManyMails(code=MailRefusal.TOO_MANY, email=person.email)
    await messages.drop_links(tx, [person.id], now=now)
    facts = {"business": business, "by": plain_name(actor.name)}
    facts |= {
        name: value
        for name, value in (
            ("maker_person", maker.person_id),
            ("maker_session", maker.session_id),
            ("maker_operator", maker.operator),
        )
        if value is not None
    }
    kind = MessageKind.INVITATION if person.password_hash is None else MessageKind.PASSWORD_LINK
    await write.to_account(tx, kind, person.id, facts, now=now)
    await four_eyes.note_reset(tx, person, PASSWORD, actor=actor, now=now)
    await audit_log.append(
        tx, actor, "password_link.mailed", now=now, merchant_id=person.merchant_id, email=person.email
    )


async def link_of_message(tx: Tx, message: Message, *, now: datetime) -> tuple[str, datetime] | None:
    """Make the link of a message that is being sent, and when it ends. None if it must not be sent any more: the person
    or the maker is gone, or one of them has changed the password or the role.

    Each attempt makes another link, because only its hash is kept; all of them work until one is used.
    """
    person_id, facts = message.recipient.account_id, message.facts
    maker = Maker(*(_text(facts.get(f"maker_{each}")) for each in ("person", "session", "operator")))
    await people.lock(tx, person_id, *([maker.person_id] if maker.person_id is not None else []))
    is_good = await messages.lock_waiting(tx, message.id) and await password_links.is_maker_there(tx, maker)
    if not is_good or await people.find(tx, person_id) is None:
        return None
    await password_links.lock_all(tx, person_id)
    link, expires_at = make_secret("mpl_"), now + LINK_LIFE
    await password_links.insert(
        tx, hash_of(link), person_id, maker, now=now, expires_at=expires_at, message_id=message.id
    )
    return link, expires_at


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


async def end_links(tx: Tx, person_id: str, *, now: datetime) -> None:
    """End the links for a person, and those that the person made, also those that wait to be sent."""
    await messages.drop_links(tx, [person_id], now=now)
    await password_links.end_all(tx, person_id, now=now)


async def end_links_made_in(tx: Tx, session_ids: Sequence[str], *, now: datetime) -> None:
    """End the links that were made in sessions which somebody has ended on purpose, also those that wait to be sent."""
    # In this order: a message that is being sent keeps its row locked until its link is stored.
    await messages.drop_links(tx, session_ids, now=now)
    await password_links.end_made_in(tx, session_ids, now=now)


async def judge_again(tx: Tx, person: Person, link_hash: bytes, *, now: datetime) -> None:
    """Judge a link again when it is used. If an operator made it before the merchant had money, or before another
    person of the merchant could log in, it counts as made now, and somebody else must vouch for the person."""
    operator = await password_links.find_unnoted_operator(tx, link_hash)
    if operator is not None and is_operator(operator):
        await four_eyes.note_reset(tx, person, PASSWORD, actor=Actor(operator, ""), now=now)
