"""Counts the amounts that each operator moves alone, and decides whether the next act takes two."""

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum

from malipo.approvals import store
from malipo.approvals.act_rules import ACTS, COUNTED, Act
from malipo.approvals.act_rules import takes_two as rule_takes_two
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Forbidden
from malipo.operators import four_eyes
from malipo.operators import store as operators
from malipo.operators.require_acting import require_acting


class OperatorRefusal(Code):
    NOT_ALONE = "operators_not_alone"
    ALWAYS_TWO = "operators_always_two"
    LOGGED_IN = "operator_logged_in"


async def lock(tx: Tx, *names: str) -> None:
    """Keep these operators, by their names as actors, from moving anything alone elsewhere until the commit.

    Every act takes this lock after the lock of matching, and before it locks a payment, a wallet or an exception. In
    another order it could deadlock with an import, which counts for its operator and then ends payments.
    """
    for name in sorted(set(names)):
        await store.lock_operator(tx, name)


class Deciders(StrEnum):
    """Who must agree with an act."""

    ONE = "one"  # The operator who does it is enough.
    TWO = "two"
    SINGLE_OPERATOR = "only"  # It takes two, but only one operator exists, who decides with --alone.


async def count_unless_two(
    tx: Tx,
    act: Act,
    amount: int,
    *,
    operator: str,
    subject: str,
    approval_amount: int,
    now: datetime,
    is_single_operator: bool = False,
    authors: Collection[str] = (),
    shares: Mapping[str, int] | None = None,
) -> Deciders:
    """Decide who must agree with this act, and count its amount as moved alone, unless it takes two operators.

    If the result is not TWO, the caller does the act in this transaction. The amount counts for the operator and for
    each of the `authors`, who answer for it as well; operators in `shares` answer for a part only. Operators whose
    password or second factor another one has set move nothing alone until a third one vouches for them: otherwise each
    operator whom one creates would have an amount of their own.
    """
    await require_acting(tx, Actor(operator, ""))
    amount = abs(amount)
    moved = {**(shares or {}), **dict.fromkeys({operator, *authors}, amount)}
    await lock(tx, *moved)
    is_for_two = any(
        [
            await would_take_two(tx, act, part, operator=each, approval_amount=approval_amount, now=now)
            for each, part in moved.items()
        ]
    )
    if is_for_two and not is_single_operator:
        return Deciders.TWO
    if is_for_two:
        await require_single_operator(tx, act)
    if amount:
        for each, part in sorted(moved.items()):
            await store.insert_moved_alone(tx, each, act, part, subject=subject, now=now)
    return Deciders.SINGLE_OPERATOR if is_for_two else Deciders.ONE


async def would_take_two(
    connection: Conn, act: Act, amount: int, *, operator: str, approval_amount: int, now: datetime, also: int = 0
) -> bool:
    """Whether the act would take two operators. `also` is an amount that this operator would move alone before it. It
    only reads."""
    moved = await store.sum_moved_alone(connection, operator, since=now - COUNTED)
    if any(each.account == operator for each in await four_eyes.find_open(connection, now=now)):
        approval_amount = 0
    return rule_takes_two(act, amount, moved_alone=moved + also, approval_amount=approval_amount)


async def require_single_operator(tx: Tx, act: Act) -> None:
    """Refuse --alone, unless no other operator could agree."""
    if not ACTS[act].may_be_alone:
        raise Forbidden(code=OperatorRefusal.ALWAYS_TWO)
    if await operators.count(tx) > 1:
        raise Forbidden(code=OperatorRefusal.NOT_ALONE)


def require_operator(actor: Actor) -> None:
    """Refuse an actor who is no operator with a name: two unnamed actors may be one person."""
    if not actor.is_operator:
        raise Forbidden(code=OperatorRefusal.LOGGED_IN)
