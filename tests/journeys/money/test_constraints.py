"""PostgreSQL refuses what the code must never do, whoever asks."""

import re

import asyncpg
import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Type
from tests.conftest import Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.status_changes import change_status

A_MOVE = """
    INSERT INTO moves (merchant_id, cause_id, step, ordinal, move_number, source, target, channel, amount, statement_line,
                       balance_after, created_at)
    VALUES ('{merchant}', '{cause}', '{step}', {ordinal}, {move_number}, '{source}', '{target}', {channel}, {amount}, {statement_line},
            {balance_after}, now())
"""
A_GOOD_MOVE: dict[str, object] = {
    "cause": "bok_1",
    "step": "booking",
    "ordinal": 1,
    "move_number": 1,
    "source": "bank",
    "target": "fees",
    "channel": "NULL",
    "amount": 1,
    "statement_line": "NULL",
    "balance_after": "NULL",
}

# What is tried, as SQL, and the constraint that must refuse it. {pending}, {processing} and {paid} are payouts.
WALLETS = {
    "a wallet below zero": ("UPDATE wallets SET available = -1", "wallets_available_is_never_negative"),
    "a wallet overdrawn by arithmetic": (
        "UPDATE wallets SET available = available - 999999999",
        "wallets_available_is_never_negative",
    ),
    "money in flight below zero": ("UPDATE wallets SET in_flight = -1", "wallets_in_flight_is_never_negative"),
    "a debt below zero": ("UPDATE wallets SET owed = -1", "wallets_owed_is_never_negative"),
    "a second wallet": ("INSERT INTO wallets (merchant_id, updated_at) VALUES ('{merchant}', now())", "wallets_pkey"),
    "a wallet of nobody": (
        "INSERT INTO wallets (merchant_id, updated_at) VALUES ('mer_nobody', now())",
        "wallets_merchant_id_fkey",
    ),
}
MOVES: dict[str, tuple[dict[str, object], str]] = {
    "a second end of a payout that was paid": (
        {"cause": "{paid}", "step": "end", "source": "in_flight", "target": "suspense"},
        "moves_pkey",
    ),
    "a second opening": ({"cause": "{pending}", "step": "open", "source": "suspense"}, "moves_pkey"),
    "a second end that calls itself the second": (
        {"cause": "{paid}", "step": "end", "ordinal": 2, "source": "in_flight", "target": "suspense"},
        "moves_begin_and_end_once",
    ),
    "a contradiction before the first": ({"step": "contradiction", "ordinal": 0}, "moves_ordinal_check"),
    "a move that goes nowhere": ({"source": "fees"}, "moves_go_somewhere"),
    "a move of nothing": ({"amount": 0}, "moves_amount_check"),
    "a move backwards": ({"amount": -1}, "moves_amount_check"),
    "a float without a channel": ({"target": "float"}, "moves_name_the_float"),
    "a channel without a float": ({"channel": "'MPESA'"}, "moves_name_the_float"),
    "an account that is none": ({"target": "mattress"}, "moves_go_between_known_accounts"),
    "a step that is none": ({"step": "again"}, "moves_step_check"),
    "a wallet without its line": ({"target": "wallet"}, "moves_number_the_wallet"),
    "a wallet with half a line": ({"target": "wallet", "statement_line": 99}, "moves_number_the_wallet"),
    "a line without a wallet": ({"statement_line": 99, "balance_after": 1}, "moves_number_the_wallet"),
    "a statement line twice": ({"target": "wallet", "statement_line": 1, "balance_after": 1}, "moves_statement"),
    "a statement below zero": (
        {"target": "wallet", "statement_line": 99, "balance_after": -1},
        "moves_balance_after_check",
    ),
}
TRANSACTIONS = {
    "an end before the beginning": (
        "UPDATE transactions SET ended_at = created_at - interval '1 ms' WHERE id = '{paid}'",
        "transactions_times_run_forward",
    ),
    "an end before the network had it": (
        "UPDATE transactions SET processing_at = ended_at + interval '1 ms' WHERE id = '{paid}'",
        "transactions_times_run_forward",
    ),
    "a network that had it before we had": (
        "UPDATE transactions SET processing_at = created_at - interval '1 ms' WHERE id = '{processing}'",
        "transactions_times_run_forward",
    ),
    "an end without a time": (
        "UPDATE transactions SET ended_at = NULL WHERE id = '{paid}'",
        "transactions_end_has_a_time",
    ),
    "a time of an end that is none": (
        "UPDATE transactions SET ended_at = now() WHERE id = '{processing}'",
        "transactions_end_has_a_time",
    ),
    "a payment completed that no network had": (
        "UPDATE transactions SET status = 'COMPLETED', ended_at = now() WHERE id = '{pending}'",
        "transactions_processing_has_a_time",
    ),
    "a cancellation of what a network has": (
        "UPDATE transactions SET status = 'CANCELLED', ended_at = now() WHERE id = '{processing}'",
        "transactions_processing_has_a_time",
    ),
    "a way back to the beginning": (
        "UPDATE transactions SET status = 'PENDING' WHERE id = '{processing}'",
        "transactions_processing_has_a_time",
    ),
    "a failure without a reason": (
        "UPDATE transactions SET status = 'FAILED', ended_at = now() WHERE id = '{processing}'",
        "transactions_failure_has_a_code",
    ),
    "a reason without a failure": (
        "UPDATE transactions SET failure_code = 'declined' WHERE id = '{paid}'",
        "transactions_failure_has_a_code",
    ),
    "a status that is none": (
        "UPDATE transactions SET status = 'LOST' WHERE id = '{pending}'",
        "transactions_status_check",
    ),
    "a payment of nothing": ("UPDATE transactions SET amount = 0", "transactions_amount_check"),
    "a fee below zero": ("UPDATE transactions SET fee = -1", "transactions_fee_check"),
    "a fee that eats a collection": (
        "UPDATE transactions SET fee = amount WHERE id = '{collection}'",
        "transactions_net_is_positive",
    ),
    "a collection that refunds another": (
        "UPDATE transactions SET refund_of = 'txn_0' WHERE id = '{collection}'",
        "transactions_only_payouts_refund",
    ),
    "two refunds that did not see each other": (
        "INSERT INTO refunds SELECT '{merchant}', '{collection}', 1, unnest(ARRAY['{pending}', '{paid}'])",
        "refunds_pkey",
    ),
    "a refund of two collections": (
        "INSERT INTO refunds SELECT '{merchant}', unnest(ARRAY['{collection}', 'txn_0']), 1, '{paid}'",
        "refunds_give_back_one_collection",
    ),
    "a reference twice": (
        "UPDATE transactions SET reference = (SELECT reference FROM transactions WHERE id = '{paid}')",
        "transactions_reference_is_unique",
    ),
    "a network key twice on a channel": (
        "UPDATE transactions SET network_key = (SELECT network_key FROM transactions WHERE id = '{paid}')",
        "transactions_network_key_is_unique",
    ),
    "an event told twice": (
        """
        INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at)
        SELECT merchant_id, 'evt_again', transaction_id, event, body, now() FROM events WHERE transaction_id = '{paid}'
        """,
        "events_tell_once",
    ),
    "an end told twice under another number": (
        """
        INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at, ordinal)
        SELECT merchant_id, 'evt_again', transaction_id, event, body, now(), 2 FROM events WHERE transaction_id = '{paid}'
        """,
        "events_only_corrections_repeat",
    ),
    "a bank's paper booked twice": (
        """
        INSERT INTO bookings (id, merchant_id, kind, bank_reference, amount, created_at)
        SELECT 'bok_again', merchant_id, kind, bank_reference, amount, now() FROM bookings
        """,
        "bookings_bank_reference_is_unique",
    ),
}
ATTACKS = (
    WALLETS
    | TRANSACTIONS
    | {
        name: (A_MOVE.format(**{"merchant": "{merchant}"} | A_GOOD_MOVE | changed), constraint)
        for name, (changed, constraint) in MOVES.items()
    }
)


@pytest.fixture
async def names(service: Service, merchant: Merchant) -> dict[str, str]:
    """A merchant with a payout in each state, and a collection."""
    names = {"merchant": merchant.id}
    for name in ("pending", "processing", "paid"):
        initiated = await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000))
        names[name] = initiated.transaction.id
    collection = await service.payments.initiate(order(merchant.id, Type.COLLECTION, 1000))
    names["collection"] = collection.transaction.id
    for name, cause in (
        ("processing", Cause.SUBMITTED),
        ("paid", Cause.SUBMITTED),
        ("paid", Cause.CONFIRMED),
    ):
        await change_status(service, StatusChange(merchant_id=merchant.id, transaction_id=names[name], cause=cause))
    return names


async def test_the_database_refuses_what_the_code_must_never_do(
    database: Database, database_url: str, names: dict[str, str]
) -> None:
    connection = await asyncpg.connect(database_url)
    refused_by = {}
    try:
        for name, (attack, _) in ATTACKS.items():
            with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refusal:
                await connection.execute(attack.format(**names))
            refused_by[name] = refusal.value.constraint_name
    finally:
        await connection.close()

    assert refused_by == {name: constraint for name, (_, constraint) in ATTACKS.items()}
    await database_facts.assert_clean(database)


async def test_the_row_that_each_attack_changes_is_valid_before_the_change(
    database_url: str, names: dict[str, str]
) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(A_MOVE.format(**names | A_GOOD_MOVE))
    finally:
        await connection.close()


async def test_every_constraint_on_money_is_attacked(database_url: str) -> None:
    """A constraint that is added later must come here too."""
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch(
            """
            SELECT conname FROM pg_constraint
            WHERE conrelid IN ('wallets'::regclass, 'moves'::regclass, 'transactions'::regclass) AND contype = 'c'
            """
        )
    finally:
        await connection.close()
    attacked = {constraint for _, constraint in ATTACKS.values()}
    # A value out of a fixed set of words is a matter of spelling; one each is attacked above.
    spelling = re.compile(r"transactions_(type|channel)_check|moves_(move_number|statement_line)_check")

    assert {row["conname"] for row in rows if not spelling.fullmatch(row["conname"])} <= attacked
