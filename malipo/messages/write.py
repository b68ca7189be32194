"""Writes messages, in the commit of their cause. Never in the commits that payments share: messages about payments are
written where their events are numbered.

`facts` are what the sentences of the kind say: texts and whole numbers, never a secret. A number whose name ends in
`amount` is shown as shillings; a text whose name ends in `_at` is a time in ISO format; `path` is where the button of
the message leads.
"""

from collections.abc import Mapping
from datetime import datetime

from malipo.db import Tx
from malipo.messages.kinds import KINDS, MessageKind
from malipo.messages.store import messages, recipients


async def to_people(
    tx: Tx,
    kind: MessageKind,
    merchant_id: str,
    facts: Mapping[str, str | int],
    *,
    now: datetime,
    cause: str | None = None,
    except_email: str | None = None,
    count: int = 1,
    amount: int = 0,
) -> None:
    """Write a message to those people of a merchant who get this kind. `cause` is the subject's id, by which each gets
    it once. A kind that is gathered has no cause; `count` and `amount` are added to a message that was not sent yet."""
    found = await recipients.find_people(tx, kind, merchant_id, except_email=except_email, now=now)
    await messages.insert(
        tx, kind, merchant_id, found, facts, cause=_checked(kind, cause), count=count, amount=amount, now=now
    )


async def to_operators(
    tx: Tx,
    kind: MessageKind,
    facts: Mapping[str, str | int],
    *,
    now: datetime,
    cause: str | None = None,
    except_name: str | None = None,
) -> None:
    """Write a message to those operators who get this kind and have an address."""
    found = await recipients.find_operators(tx, kind, except_name=except_name)
    await messages.insert(tx, kind, None, found, facts, cause=_checked(kind, cause), now=now)


async def to_account(
    tx: Tx,
    kind: MessageKind,
    account_id: str,
    facts: Mapping[str, str | int],
    *,
    now: datetime,
    cause: str | None = None,
) -> None:
    """Write a message to one person or operator, whatever they have chosen; none to an operator without an address."""
    found = await recipients.find_account(tx, account_id)
    if found is not None:
        recipient, merchant_id = found
        await messages.insert(tx, kind, merchant_id, [recipient], facts, cause=_checked(kind, cause), now=now)


def _checked(kind: MessageKind, cause: str | None) -> str | None:
    assert cause is None or KINDS[kind].gathers is None, "what is gathered has no cause of its own"
    return cause
