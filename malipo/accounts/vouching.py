"""One person cannot fill both roles of a decision that takes two. Whoever sets another's password, makes a link for it,
or resets the second factor may log in as that one. So somebody with such a reset is neither of the two: until somebody
who had no part in it vouches, or until the cooling time is over, in which others see it on every page.

The same for operators (`operators/vouching.py`) and for merchants' people (`merchants/vouching.py`), who differ in who
may vouch, and in their words.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo.accounts.store import credential_resets
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.db import Tx

# Longer than a weekend. A constant and not a setting, because whoever runs a command can set its environment.
COOLING_TIME = timedelta(hours=72)


def waiting(found: Sequence[CredentialReset]) -> set[str]:
    """The accounts that cannot be one of two approvers."""
    return {each.account for each in found}


def are_two(found: Sequence[CredentialReset], one: str | None, other: str | None) -> bool:
    """Whether these are two people for certain."""
    return None not in (one, other) and one != other and not waiting(found) & {one, other}


def may_vouch(
    found: Sequence[CredentialReset], account: str, voucher: str, history: Sequence[CredentialReset] = ()
) -> bool:
    """Nobody for what they did or for themselves, also by way of others. Nor anybody with an open reset of their own:
    whoever did that one may be them, and have done the others too. `history` has the resets that have ended."""
    own = [each for each in found if each.account == account]
    return voucher not in behind(own, [*found, *history]) | waiting(found)


def behind(own: Sequence[CredentialReset], known: Sequence[CredentialReset]) -> set[str]:
    """Everybody who may have done these resets: the accounts that did, those that had reset one of these accounts, and
    so on. One person sets a second account's password, and with that account a third's.

    A reset does not count if it had ended before the later one. Vouching in between, the cooling time, and the order of
    two resets change nothing about who may have done the later one.
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
    """The open resets of this account; none if a page has shown another one as the last. Nobody vouches for what they
    have not seen."""
    own = [each for each in found if each.account == account]
    return own if own and last_seen in (None, own[-1].id) else []


async def end(tx: Tx, own: Sequence[CredentialReset], *, voucher: str, now: datetime) -> list[str]:
    """End these resets as confirmed. Returns who did them."""
    await credential_resets.end(tx, [each.id for each in own], vouched_by=voucher, now=now)
    return sorted({each.reset_by for each in own})


def last_of_each(found: Sequence[CredentialReset]) -> list[CredentialReset]:
    """The last open reset of each account: from then on the cooling time counts."""
    return list({each.account: each for each in found}.values())
