"""One person cannot fill both roles of a decision that takes two. Whoever sets another's password, makes a link for it,
or resets the second factor may log in as that one. So somebody with such a reset is neither of the two: until somebody
who had no part in it vouches, or until the cooling time is over, in which others see it on every page.

The same for operators (`operators/vouching.py`) and for merchants' people (`merchants/vouching.py`), who differ in who
may vouch, and in their words.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from malipo.access import credential_reset_store as store
from malipo.access.credential_reset_store import CredentialReset
from malipo.db import Tx

# Long enough for a weekend. A constant: whoever gives a command can set a variable.
COOLING_TIME = timedelta(hours=72)


def waiting(found: Sequence[CredentialReset]) -> set[str]:
    """The accounts that count for no decision that takes two."""
    return {each.account for each in found}


def are_two(found: Sequence[CredentialReset], one: str | None, other: str | None) -> bool:
    """Whether these are two people for certain."""
    return None not in (one, other) and one != other and not waiting(found) & {one, other}


def may_vouch(found: Sequence[CredentialReset], account: str, voucher: str) -> bool:
    """Nobody for what they did or for themselves. Nor anybody with an open reset of their own: whoever did that one may
    be them, and have done the others too."""
    return voucher not in {each.reset_by for each in found if each.account == account} | waiting(found)


def open_of(found: Sequence[CredentialReset], account: str, last_seen: str | None) -> list[CredentialReset]:
    """The open resets of this account; none if a page has shown another one as the last. Nobody vouches for what they
    have not seen."""
    own = [each for each in found if each.account == account]
    return own if own and last_seen in (None, own[-1].id) else []


async def end(tx: Tx, own: Sequence[CredentialReset], *, voucher: str, now: datetime) -> list[str]:
    """All of these were right. Who did them."""
    await store.end(tx, [each.id for each in own], vouched_by=voucher, now=now)
    return sorted({each.reset_by for each in own})


def last_of_each(found: Sequence[CredentialReset]) -> list[CredentialReset]:
    """The last open reset of each account: from then on the cooling time counts."""
    return list({each.account: each for each in found}.values())
