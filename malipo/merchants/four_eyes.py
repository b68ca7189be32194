"""When two accounts of a merchant are two people. People whom another person invited, gave a password link, or whose
second factor another person reset, are neither of the two people for a payout, until an uninvolved owner vouches, or
until the cooling time is over. The rule itself is in `accounts/four_eyes.py`.

Meanwhile they cannot evade the rule by a key that pays, by shutting out an owner who sees it, or by other roles
(`require_not_waiting`). If an operator did it, they pay out nothing at all (`find_not_paying`), and another operator
may vouch too.

People are named by their emails, as in batches and keys, also after they are removed: a person who was invited, made a
batch and was removed again is no second person either. An API key counts as the person who made it. All keys that
operators made count together as one person who is not of the merchant.
"""

from collections.abc import Sequence
from datetime import datetime

from malipo import ids
from malipo.accounts import four_eyes
from malipo.accounts.four_eyes import COOLING_TIME
from malipo.accounts.store import credential_resets
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, is_operator, is_person
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict, Forbidden
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import merchants, people


class PeopleVouchingRefusal(Code):
    NEEDS_ANOTHER_OWNER = "vouching_needs_another_owner"
    NEEDS_ANOTHER_OPERATOR = "vouching_needs_another_operator"
    NOTHING_OPEN = "nothing_to_vouch_for"


class NotAParty(Forbidden):
    code = PeopleVouchingRefusal.NEEDS_ANOTHER_OWNER


class NotAnotherOperator(Forbidden):
    code = PeopleVouchingRefusal.NEEDS_ANOTHER_OPERATOR


class NothingOpen(Conflict):
    code = PeopleVouchingRefusal.NOTHING_OPEN


class NotVouchedFor(Forbidden):
    code = "account_not_vouched_for"

    def __init__(self) -> None:
        super().__init__(
            "Somebody else has invited you, made a link for your password, or reset your two-step log-in. Until an "
            "owner who had no part in it vouches for you, or for 72 hours, you cannot make an API key that pays out or "
            "approves, change roles, or remove or reset an owner; nor pay out or approve, if an operator of the "
            "service did it."
        )


async def require_not_waiting(connection: Conn, merchant_id: str, actor: Actor, *, now: datetime) -> None:
    """Refuse a waiting person an act that would pay without a second person, or shut out somebody who sees the reset.
    Operators are not refused here: `approvals/act_rules.py` has their rules."""
    if actor.name in four_eyes.waiting(await find_open(connection, merchant_id, now=now)):
        raise NotVouchedFor


async def note_reset(tx: Tx, person: Person, credential: str, *, actor: Actor, now: datetime) -> bool:
    """Store a reset, if somebody must vouch for it; returns whether. Nobody must for one's own credentials, nor for the
    first people of a merchant, while none of them has a password: the operator who creates the merchant names them. But
    that holds only for a merchant that has had no money: otherwise one operator could become its owner, and pay it
    out."""
    if actor.name == person.email:
        return False
    if not await people.has_any_password(tx, person.merchant_id) and not (
        actor.is_operator and await merchants.has_had_money(tx, person.merchant_id)
    ):
        return False
    if person.role is Role.OWNER and person.password_hash is not None:
        await require_not_waiting(tx, person.merchant_id, actor, now=now)
    id_ = ids.mint("crs_", now)
    await credential_resets.insert_of_person(
        tx, id_, person.merchant_id, person.email, credential, reset_by=actor.name, now=now
    )
    return True


async def find_open(connection: Conn, merchant_id: str, *, now: datetime) -> list[CredentialReset]:
    """Resets within the cooling time without a voucher, the oldest first."""
    return await credential_resets.find_open_of_people(connection, merchant_id, since=now - COOLING_TIME)


async def find_not_paying(connection: Conn, merchant_id: str, *, now: datetime) -> set[str]:
    """People who pay out nothing, alone or with others, because an operator may have their account: an operator made
    the link or did the reset, or had the account that did. (An owner who resets another's account gains nothing, if one
    person may pay out alone.)"""
    found = await find_open(connection, merchant_id, now=now)
    if not found:
        return set()
    known = [*found, *await credential_resets.find_all_of_people(connection, merchant_id)]
    return {
        account
        for account in four_eyes.waiting(found)
        if any(is_operator(by) for by in four_eyes.behind([each for each in found if each.account == account], known))
    }


def is_one_of_merchant(*makers: str | None) -> bool:
    """Whether at least one of the makers is of the merchant. Operators never count as two people for a merchant: one
    may have set the other's password, and a merchant does not see who vouched for that."""
    return any(each is not None and is_person(each) for each in makers)


def may_vouch(
    found: Sequence[CredentialReset], email: str, voucher: Person, history: Sequence[CredentialReset] = ()
) -> bool:
    return voucher.role is Role.OWNER and four_eyes.may_vouch(found, email, voucher.email, history)


async def vouch(
    tx: Tx, person: Person, voucher: Person, *, actor: Actor, now: datetime, last_seen: str | None = None
) -> None:
    """Vouch for a person: all open resets were right, and the account is the person's alone."""
    found = await find_open(tx, person.merchant_id, now=now)
    own = four_eyes.open_of(found, person.email, last_seen)
    if not own:
        raise NothingOpen
    if not may_vouch(found, person.email, voucher, await credential_resets.find_all_of_people(tx, person.merchant_id)):
        raise NotAParty
    by = await four_eyes.end(tx, own, voucher=voucher.email, now=now)
    merchant_id = person.merchant_id
    await audit_log.append(
        tx, actor, "person.vouched_for", now=now, merchant_id=merchant_id, email=person.email, resets_by=by
    )


async def find_open_of_operators(connection: Conn, person: Person, *, now: datetime) -> list[CredentialReset]:
    """Resets of this person's account by operators without a voucher."""
    found = await find_open(connection, person.merchant_id, now=now)
    return [each for each in found if each.account == person.email and is_operator(each.reset_by)]


async def vouch_as_operator(
    tx: Tx, person: Person, *, actor: Actor, now: datetime, last_seen: str | None = None
) -> None:
    """Vouch as an operator for resets by operators. Only owners vouch for resets by the merchant's own people."""
    own = four_eyes.open_of(await find_open_of_operators(tx, person, now=now), person.email, last_seen)
    if not own:
        raise NothingOpen
    merchant_id = person.merchant_id
    found = [
        *await find_open(tx, merchant_id, now=now),
        *await credential_resets.find_open(tx, since=now - COOLING_TIME),
    ]
    history = [*await credential_resets.find_all_of_people(tx, merchant_id), *await credential_resets.find_all(tx)]
    if not actor.is_operator or not four_eyes.may_vouch(found, person.email, actor.name, history):
        raise NotAnotherOperator
    by = await four_eyes.end(tx, own, voucher=actor.name, now=now)
    await audit_log.append(
        tx, actor, "person.vouched_for", now=now, merchant_id=merchant_id, email=person.email, resets_by=by
    )


def owners_who_count(everybody: list[Person], found: list[CredentialReset]) -> list[Person]:
    """The owners who count as approvers. If they are fewer than two, the rule delays nobody beyond the cooling time."""
    waiting = four_eyes.waiting(found)
    return [each for each in everybody if each.role is Role.OWNER and each.email not in waiting and each.password_hash]
