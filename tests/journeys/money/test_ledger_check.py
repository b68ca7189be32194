"""`malipo ledger check` finds what was tampered with, whichever table it was, and names it."""

from contextlib import suppress
from typing import Any

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.check import LedgerFinding
from malipo.payments.cancel import Cancellation
from malipo.payments.check import transactions as transactions_check
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Type
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.operator_commands import malipo
from tests.status_changes import change_status


@pytest.fixture
async def names(service: Service, database: Database, merchant: Merchant) -> dict[str, str]:
    """A merchant with payments of both types in every state, with fees; the names of some of them."""
    async with database.begin() as tx:
        for type_ in Type:
            await tx.execute("INSERT INTO tariffs VALUES ($1, $2, 'MPESA', 0, 50, 0, 0, NULL)", merchant.id, type_)
    names = {"merchant": merchant.id}
    for type_ in Type:
        for status in ("pending", "processing", "completed", "failed", "cancelled"):
            asked = order(merchant.id, type_, 1000, key=f"{type_}-{status}")
            names[f"{type_.lower()}_{status}"] = (await service.payments.initiate(asked)).transaction.id
    for name, id_ in list(names.items()):
        causes = {
            "processing": [Cause.SUBMITTED],
            "completed": [Cause.SUBMITTED, Cause.CONFIRMED],
            "failed": [Cause.SUBMITTED, Cause.REFUSED],
        }.get(name.rpartition("_")[2], [])
        for cause in causes:
            await change_status(
                service, StatusChange(merchant_id=merchant.id, transaction_id=id_, cause=cause, failure_code="declined")
            )
        if name.endswith("cancelled"):
            await service.payments.cancel(Cancellation(merchant.id, id_))
    await database_facts.assert_clean(database)
    return names


# What is done to the book behind malipo's back, and whom the findings must name.
BALANCES = {
    "a wallet that grew": ("UPDATE wallets SET available = available + 1", "merchant"),
    "money in flight that shrank": ("UPDATE wallets SET in_flight = in_flight - 1", "merchant"),
    "a count of lines": ("UPDATE wallets SET statement_lines = statement_lines + 1", "merchant"),
    "a wallet that is gone": ("DELETE FROM wallets", "merchant"),
}
MOVES = {
    "a move of another amount": (
        "UPDATE moves SET amount = amount + 1 WHERE cause_id = '{disbursement_completed}' AND target = 'float'",
        "disbursement_completed",
    ),
    "a move that is gone": (
        "DELETE FROM moves WHERE cause_id = '{disbursement_completed}' AND step = 'end' AND move_number = 2",
        "disbursement_completed",
    ),
    "a move to another account": (
        "UPDATE moves SET target = 'suspense' WHERE cause_id = '{disbursement_completed}' AND target = 'fees'",
        "disbursement_completed",
    ),
    "a move on another channel's float": (
        "UPDATE moves SET channel = 'HALOPESA' WHERE cause_id = '{collection_completed}' AND move_number = 1",
        "collection_completed",
    ),
    "a move that nothing asked for": (
        """
        INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, channel, amount, created_at)
        VALUES ('{merchant}', '{collection_pending}', 'end', 1, 'float', 'fees', 'MPESA', 5, now())
        """,
        "collection_pending",
    ),
    "a move of a payment that does not exist": (
        """
        INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, channel, amount, created_at)
        VALUES ('{merchant}', 'txn_nowhere', 'end', 1, 'float', 'fees', 'MPESA', 5, now())
        """,
        "txn_nowhere",
    ),
}
STATEMENT = {
    "a balance after a line": ("UPDATE moves SET balance_after = balance_after + 1 WHERE statement_line = 2", "line 2"),
    "two lines in each other's place": (
        """
        UPDATE moves SET statement_line = CASE statement_line WHEN 2 THEN 1002 ELSE 1001 END WHERE statement_line IN (1, 2);
        UPDATE moves SET statement_line = statement_line - 1000 + CASE statement_line WHEN 1001 THEN 1 ELSE -1 END
        WHERE statement_line > 1000
        """,
        "line 1",
    ),
}
TRANSACTIONS = {
    "a payout said to be paid": (
        "UPDATE transactions SET status = 'COMPLETED', ended_at = 'infinity' WHERE id = '{disbursement_processing}'",
        "disbursement_processing",
    ),
    "a payout said to be given back": (
        "UPDATE transactions SET status = 'CANCELLED', ended_at = 'infinity' WHERE id = '{disbursement_pending}'",
        "disbursement_pending",
    ),
    "a collection said to be paid": (
        "UPDATE transactions SET status = 'COMPLETED', ended_at = 'infinity' WHERE id = '{collection_processing}'",
        "collection_processing",
    ),
    "a payout said to be open again": (
        "UPDATE transactions SET status = 'PROCESSING', ended_at = NULL WHERE id = '{disbursement_completed}'",
        "disbursement_completed",
    ),
    "a collection said to be open again": (
        "UPDATE transactions SET status = 'PROCESSING', ended_at = NULL WHERE id = '{collection_completed}'",
        "collection_completed",
    ),
    "a payout of another amount": (
        "UPDATE transactions SET amount = amount + 1 WHERE id = '{disbursement_failed}'",
        "disbursement_failed",
    ),
    "a fee that changed": (
        "UPDATE transactions SET fee = fee + 1 WHERE id = '{collection_completed}'",
        "collection_completed",
    ),
    "a payment that is gone": ("DELETE FROM transactions WHERE id = '{disbursement_pending}'", "disbursement_pending"),
    "a payment of another channel": (
        "UPDATE transactions SET channel = 'HALOPESA' WHERE id = '{collection_completed}'",
        "collection_completed",
    ),
    "a key without its payment": (
        "UPDATE idempotency_keys SET transaction_id = 'txn_nowhere' WHERE transaction_id = '{collection_pending}'",
        "txn_nowhere",
    ),
}

OTHERS = {
    "an event that is gone": (
        "DELETE FROM events WHERE transaction_id = '{collection_completed}' AND event = 'payment.completed'",
        "collection_completed",
    ),
    "an event of a status that was not reached": (
        """
        INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at)
        VALUES ('{merchant}', 'evt_1', '{collection_pending}', 'payment.completed', '{{}}', now())
        """,
        "collection_pending",
    ),
    "a collection said to be cancelled": (
        "UPDATE transactions SET status = 'CANCELLED', ended_at = 'infinity' WHERE id = '{collection_pending}'",
        "collection_pending",
    ),
    "a gap in the statement": (
        "UPDATE moves SET statement_line = statement_line + 7 WHERE statement_line = (SELECT max(statement_lines) FROM wallets)",
        "merchant",
    ),
    "a booking without its paper": ("DELETE FROM bookings", "bok_"),
}
TAMPERED = BALANCES | MOVES | STATEMENT | TRANSACTIONS | OTHERS


class _TakenBack(Exception):  # noqa: N818
    """Ends a transaction without a trace."""


async def _findings_after(database: Database, tampering: str, *, rows: int | None = None) -> str:
    """What both audits say of the book after this was done to it, which is then taken back."""
    found: list[LedgerFinding] = []
    with suppress(_TakenBack):
        async with database.begin() as tx:
            await tx.execute(tampering)
            if rows is None:
                found += [*await ledger_check.check(tx), *await transactions_check.check(tx)]
            else:
                found += await database_facts.check_in_pieces(tx, rows=rows)
            raise _TakenBack
    return "\n".join(f"{each.where}: {each.what}" for each in found)


@pytest.mark.parametrize("rows", [None, 3, 10_000], ids=["at once", "in pieces", "in large pieces"])
async def test_the_audit_finds_what_was_tampered_with_and_names_it(
    database: Database, names: dict[str, str], rows: int | None
) -> None:
    unseen = {}
    for what, (tampering, whom) in TAMPERED.items():
        found = await _findings_after(database, tampering.format(**names), rows=rows)
        if names.get(whom, whom) not in found:
            unseen[what] = found

    assert unseen == {}
    await database_facts.assert_clean(database)


@pytest.mark.parametrize(
    ("tampering", "whom", "words"),
    [
        (*BALANCES["a wallet that grew"], "wallet is"),
        (*MOVES["a move of another amount"], "move is 1,001, should be 1,000"),
        (*STATEMENT["a balance after a line"], "balance after a statement line"),
        (*TRANSACTIONS["a collection said to be paid"], "move is nothing, should be 950"),
    ],
    ids=["a balance", "a move", "a statement line", "a status"],
)
async def test_the_command_ends_with_1_and_names_what_differs(
    database: Database, database_url: str, names: dict[str, str], tampering: str, whom: str, words: str
) -> None:
    clean = await malipo("ledger", "check", database_url=database_url)
    async with database.begin() as tx:
        await tx.execute(tampering.format(**names))

    text = await malipo("ledger", "check", database_url=database_url)
    json = await malipo("ledger", "check", "--json", database_url=database_url)

    assert (clean.code, text.code, json.code) == (0, 1, 1)
    assert "clean" in clean.out
    assert "NOT clean" in text.err
    [line, *_] = [line for line in text.err.splitlines() if names.get(whom, whom) in line]
    assert words in line
    body: dict[str, Any] = json.json
    assert body["isClean"] is False
    assert any(names.get(whom, whom) in finding["where"] for finding in body["findings"])
