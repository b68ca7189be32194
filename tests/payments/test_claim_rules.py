"""Which claims of the work queue take which payment: a table written by hand, and the SQL is compared with it.

A row is a state of the queue; the two cells are the claims that lock its collection and its payout. The claims are
those of `malipo/payments/store/claims.py` and `asked_first.py`; payouts of batches are in `test_claim_for_sending.py`.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

import pytest

from malipo.db import Database, Tx
from malipo.networks.connector import Channel
from malipo.payments.store import asked_first, claims
from malipo.payments.store.dispatches import PaymentRecord
from malipo.payments.transaction import Type
from tests.payments.payment_steps import PAIRS, ROUTE, PaymentSteps
from tests.payments.payment_steps import steps as steps

LAPSE_SECONDS = 600.0
CLAIMS: dict[str, Callable[[Tx], Awaitable[list[PaymentRecord]]]] = {
    "new": lambda tx: _new(tx),
    "unsent": lambda tx: claims.lock_unsent(tx, ROUTE, most=99),
    "lapsed": lambda tx: claims.lock_lapsed(tx, Channel.MPESA, lapse_seconds=LAPSE_SECONDS, most=99),
    "lapsed unsent": lambda tx: claims.lock_lapsed_unsent(tx, ROUTE, lapse_seconds=LAPSE_SECONDS, most=99),
    "unconnected": lambda tx: claims.lock_unconnected_payouts(tx, Channel.MPESA, lapse_seconds=LAPSE_SECONDS, most=99),
    "query": lambda tx: claims.claim_queries(tx, ROUTE, lease_seconds=60, most=99),
    "follow-up": lambda tx: claims.claim_follow_ups(tx, ROUTE, lease_seconds=60, most=99),
    "asked first": lambda tx: asked_first.claim_asked_first(tx, ROUTE, PAIRS, lease_seconds=60, most=99),
}


async def _new(tx: Tx) -> list[PaymentRecord]:
    return [each for channel, type_ in PAIRS for each in await claims.lock_new(tx, channel, type_, most=99)]


class Row(NamedTuple):
    state: str
    changes: str  # of the dispatch, as SQL
    collection: str  # the claims that take it, with commas
    payout: str
    is_closed: bool = False  # whether the merchant is


OLD = "due_at = now() - interval '1 hour', queued_at = now() - interval '1 hour'"
TAKEN = f"connector = '{ROUTE}', claim_id = 'clm_1', send_count = 1, sent_at = now()"
RELEASED = f"connector = '{ROUTE}', claim_id = NULL, next_action = 'send'"
TABLE = [
    Row("waits to be sent", "due_at = now()", "new", "new"),
    Row("is not due", "due_at = now() + interval '1 minute'", "", ""),
    Row("waited for too long", OLD, "new, lapsed", "new, unconnected"),
    Row("waits, the merchant is closed", "due_at = now()", "new", "", is_closed=True),
    Row("waited for too long, the merchant is closed", OLD, "new, lapsed", "", is_closed=True),
    Row("is asked first, after a restore", f"{OLD}, is_asked_first = true", "asked first", "asked first"),
    Row("waited, an operator must look", f"{OLD}, attention = 'unsent'", "new, lapsed", "new"),
    Row("waited, a success was heard", f"{OLD}, success_heard_at = now()", "new", "new"),
    Row("waited, it was sent before", f"{OLD}, send_count = 1", "new", "new"),
    Row("is being sent", f"{TAKEN}, next_action = 'sending', due_at = now() + interval '1 minute'", "", ""),
    Row("its sender has died", f"{TAKEN}, next_action = 'sending', due_at = now()", "query", "query"),
    Row("waits for its outcome", f"{TAKEN}, next_action = 'ask', due_at = now()", "query", "query"),
    Row("has ended, and may be corrected", f"{TAKEN}, next_action = 'ask', is_follow_up = true, due_at = now()",
        "follow-up", "follow-up"),
    Row("nothing was sent", f"{RELEASED}, due_at = now()", "unsent", "unsent"),
    Row("nothing was sent for too long", f"{RELEASED}, {OLD}", "unsent, lapsed unsent", "unsent"),
    Row("was sent once, and is sent again", f"{RELEASED}, {OLD}, send_count = 1", "unsent", "unsent"),
    Row("nothing was sent, a success was heard", f"{RELEASED}, {OLD}, success_heard_at = now()", "unsent", "unsent"),
    Row("nothing was sent, the merchant is closed", f"{RELEASED}, due_at = now()", "unsent", "", is_closed=True),
]  # fmt: skip
# What the installation permits, for payments that waited for too long and for those whose query is due.
INSTALLATION = [
    ("nothing is held", "SELECT", "new, lapsed, query", "new, unconnected, query"),
    ("all sending is held", "UPDATE installation SET held_at = now(), held_by = 'asha', hold_reason = 'x'",
     "lapsed, query", "query"),
    ("payouts of the channel are held",
     "INSERT INTO channel_holds (channel, type, held_at, held_by, reason)"
     " VALUES ('MPESA', 'DISBURSEMENT', now(), 'asha', 'x')",
     "new, lapsed, query", "query"),
    ("the installation is fenced after a restore", "UPDATE installation SET fenced_at = now()", "query", "query"),
    ("no worker has compared its mark with this database",
     "INSERT INTO worker_send_counts (worker_id, host, server_id) VALUES ('wrk_1', 'a', 'another')", "query", "query"),
]  # fmt: skip


@pytest.mark.parametrize("is_closed", [False, True])
async def test_each_state_of_a_payment_is_for_the_claims_of_the_table(steps: PaymentSteps, is_closed: bool) -> None:
    rows = [each for each in TABLE if each.is_closed is is_closed]
    expected = {}
    for row in rows:
        for type_, names in ((Type.COLLECTION, row.collection), (Type.DISBURSEMENT, row.payout)):
            opened = await steps.open(type_)
            await _change(steps.database, opened.id, row.changes)
            expected[opened.id] = (row.state, type_, _names(names))
    if is_closed:
        async with steps.database.begin() as tx:
            await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", steps.merchant_id)

    taken = await _claims_by_payment(steps.database)

    wrong = {id_: (*row, taken.get(id_, set())) for id_, row in expected.items() if taken.get(id_, set()) != row[2]}
    assert not wrong


@pytest.mark.parametrize(("state", "change", "collection", "payout"), INSTALLATION)
async def test_the_installation_permits_the_claims_of_the_table(
    steps: PaymentSteps, state: str, change: str, collection: str, payout: str
) -> None:
    waiting, asked = {}, {}
    for type_ in Type:
        waiting[type_], asked[type_] = (await steps.open(type_)).id, (await steps.open(type_)).id
        await _change(steps.database, waiting[type_], OLD)
        await _change(steps.database, asked[type_], f"{TAKEN}, next_action = 'ask', due_at = now()")
    async with steps.database.begin() as tx:
        await tx.execute(change)

    taken = await _claims_by_payment(steps.database)

    for type_, names in ((Type.COLLECTION, collection), (Type.DISBURSEMENT, payout)):
        found = taken.get(waiting[type_], set()) | taken.get(asked[type_], set())
        assert found == _names(names), (state, type_)


async def _change(database: Database, id_: str, changes: str) -> None:
    async with database.begin() as tx:
        await tx.execute(f"UPDATE dispatches SET {changes} WHERE transaction_id = $1", id_)


async def _claims_by_payment(database: Database) -> dict[str, set[str]]:
    """The names of the claims that take each payment. Each claim is rolled back."""
    taken: dict[str, set[str]] = {}
    for name, claim in CLAIMS.items():
        with suppress(_RolledBack):
            async with database.begin() as tx:
                for each in await claim(tx):
                    taken.setdefault(each.transaction.id, set()).add(name)
                raise _RolledBack
    return taken


class _RolledBack(Exception):  # noqa: N818
    pass


def _names(cell: str) -> set[str]:
    return set(cell.split(", ")) if cell else set()
