"""Shows at the terminal what a decision changes, account by account, as the pages do."""

from collections.abc import Mapping, Sequence
from typing import Any

from malipo import money
from malipo.approvals.operator_limits import with_limits
from malipo.db import Conn
from malipo.errors import Refusal
from malipo.merchants.store import merchants
from malipo.reconciliation.exceptions.action import Action, Resolution
from malipo.reconciliation.exceptions.find_effect import AccountChange, find_balances, find_effect
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.settings import Settings
from malipo.words import effects as effect_words

Rows = Sequence[dict[str, Any]]


async def find(
    connection: Conn,
    exception: ReconciliationException,
    action: Action,
    terms: Mapping[str, str],
    settings: Settings,
) -> Rows | None:
    """Find the effect; None if its payment does not exist."""
    try:
        changes = await find_effect(
            connection,
            exception,
            action,
            terms,
            await find_balances(connection),
            credits_automatically=(await with_limits(connection, settings)).credit_by_itself,
        )
    except Refusal:
        return None
    if changes is None:
        return None
    return rows_of(changes, await merchants.find_names(connection))


def rows_of(changes: Sequence[AccountChange], names: dict[str, str]) -> Rows:
    return [
        {
            "account": effect_words.title_of(each).format(of=effect_words.owner_of(each, names)),
            "before": each.before,
            "change": each.after - each.before,
            "after": each.after,
        }
        for each in changes
    ]


async def find_undone(connection: Conn, exception_id: str) -> dict[str, str]:
    """The terms of undoing what was done last."""
    done = [each for each in await resolutions.find(connection, exception_id) if each.is_approved]
    last = [each.id for each in done if each.undone_by is None and each.action is not Action.UNDO]
    return {"resolution": last[-1] if last else ""}


async def find_open(connection: Conn, exception_id: str) -> Resolution | None:
    """The open proposal."""
    found = await resolutions.find(connection, exception_id)
    return next((each for each in found if each.decided_at is None), None)


def in_words(rows: Rows) -> str:
    if not rows:
        return effect_words.NOTHING
    return "\n".join(
        f"  {row['account']}: {money.display(row['before'])} → {money.display(row['after'])}" for row in rows
    )
