"""Counts what each operator moves without a second one, and says whether the next act takes two."""

from datetime import datetime

from malipo.approvals import store
from malipo.approvals.acts import ACTS, COUNTED, Act
from malipo.approvals.acts import takes_two as rule_takes_two
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Forbidden
from malipo.operators import store as operators
from malipo.operators import vouching

NOT_ALONE = "There is more than one operator, so it takes two of them."
ALWAYS_TWO = "This always takes two operators."


async def lock(tx: Tx, *names: str) -> None:
    """Until the commit these operators, by their names as actors, move nothing alone elsewhere.

    Every act takes it before it locks a payment, a wallet or an exception, and after the lock of matching: the other
    order could deadlock with an import, which counts for its operator and then settles payments.
    """
    for name in sorted(set(names)):
        await store.lock_operator(tx, name)


async def takes_two(
    tx: Tx,
    act: Act,
    amount: int,
    *,
    operator: str,
    subject: str,
    approval_amount: int,
    now: datetime,
    is_single_operator: bool = False,
) -> bool:
    """Whether this act of theirs takes two operators. If it does not, what it moves is counted: the caller does it in
    this transaction. Who got their password or second factor from another operator moves nothing alone until somebody
    vouches for it: otherwise each operator that one makes has an amount of its own."""
    amount = abs(amount)
    await lock(tx, operator)
    moved = await store.sum_moved_alone(tx, operator, since=now - COUNTED)
    if any(each.account == operator for each in await vouching.find_open(tx, now=now)):
        approval_amount = 0
    is_for_two = rule_takes_two(act, amount, moved_alone=moved, approval_amount=approval_amount)
    if is_for_two and is_single_operator:
        await require_single_operator(tx, act)
        is_for_two = False
    if not is_for_two and amount:
        await store.insert_moved_alone(tx, operator, act, amount, subject=subject, now=now)
    return is_for_two


async def require_single_operator(tx: Tx, act: Act) -> None:
    """With --alone: only where nobody else could agree."""
    if not ACTS[act].may_be_alone:
        raise Forbidden(ALWAYS_TWO)
    if await operators.count(tx) > 1:
        raise Forbidden(NOT_ALONE)


def require_operator(actor: Actor) -> None:
    """Without names it cannot be told that two operators are two."""
    if not actor.is_operator:
        raise Forbidden("This takes an operator who is logged in: malipo operators login")
