"""The four-eyes rule: when two accounts are two people, for a decision that takes two. A person who sets another one's
password, makes a link for it, or resets the second factor, could log in with that account. So an account with such a
reset is neither of the two, until an uninvolved person vouches for it, or until the cooling time is over, in which
others see it on every page.

The rule is the same for operators (`operators/four_eyes.py`) and for merchants' people (`merchants/four_eyes.py`); who
may vouch differs.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo.accounts.store import credential_resets
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.db import Tx

# Longer than a weekend. A constant and no setting, because the user of a command controls its environment.
COOLING_TIME = timedelta(hours=72)


def waiting(found: Sequence[CredentialReset]) -> set[str]:
    """The accounts that cannot be one of two approvers."""
    return {each.account for each in found}


def are_two(found: Sequence[CredentialReset], one: str | None, other: str | None) -> bool:
    """Whether these accounts certainly belong to two people."""
    return None not in (one, other) and one != other and not waiting(found) & {one, other}


def may_vouch(
    found: Sequence[CredentialReset], account: str, voucher: str, history: Sequence[CredentialReset] = ()
) -> bool:
    """Whether this voucher may vouch for the account. Nobody vouches for a reset of their own account, or for one that
    they did or may have done through other accounts. Neither does an account with an open reset: the person who did
    that reset may use it, and may have done the others too. `history` has the ended resets."""
    own = [each for each in found if each.account == account]
    return voucher not in behind(own, [*found, *history]) | waiting(found)


def behind(own: Sequence[CredentialReset], known: Sequence[CredentialReset]) -> set[str]:
    """All accounts that may be behind these resets: the accounts that did them, the accounts that had reset one of
    those, and so on. (One person can set a second account's password, and with that account a third one's.)

    A reset does not count if it had ended before the later one. Otherwise neither vouching in between, nor the cooling
    time, nor the order of two resets changes who may be behind the later one.
    """
    parties, unread = set[str](), list(own)
    read = {each.id for each in own}
    while unread:
        later = unread.pop()
        parties.add(later.reset_by)
        earlier = [each for each in known if each.account == later.reset_by and _ended_at(each) >= later.reset_at]
        unread += [each for each in earlier if each.id not in read]
        read |= {each.id for each in earlier}
    return parties


def _ended_at(reset: CredentialReset) -> datetime:
    return reset.vouched_at or reset.reset_at + COOLING_TIME


def open_of(found: Sequence[CredentialReset], account: str, last_seen: str | None) -> list[CredentialReset]:
    """The open resets of this account; none if the page has shown another one as the last, because nobody vouches for a
    reset that they have not seen."""
    own = [each for each in found if each.account == account]
    return own if own and last_seen in (None, own[-1].id) else []


async def end(tx: Tx, own: Sequence[CredentialReset], *, voucher: str, now: datetime) -> list[str]:
    """End these resets as vouched for. Returns the accounts that did them."""
    await credential_resets.end(tx, [each.id for each in own], vouched_by=voucher, now=now)
    return sorted({each.reset_by for each in own})


def last_of_each(found: Sequence[CredentialReset]) -> list[CredentialReset]:
    """The last open reset of each account, from which the cooling time counts."""
    return list({each.account: each for each in found}.values())
