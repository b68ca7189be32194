"""Locks and constraints of the database: what happens at once happens as if one after the other."""

from malipo.db import errors
from malipo.ledger.store import wallets
from malipo.payments.store import claims, dispatches, initiate_inputs, status_writes, transactions
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

# In another order in each transaction, which is the same whenever the seed is run.
_BY_CHANCE = "ORDER BY md5({} || current_setting('sim.now')) FOR UPDATE"
_UNSORTED = (
    InFunction(dispatches.lock, "ORDER BY t.merchant_id, t.id FOR UPDATE", _BY_CHANCE.format("t.id")),
    InFunction(transactions.lock, "ORDER BY t.merchant_id, t.id FOR UPDATE", _BY_CHANCE.format("t.id")),
    InFunction(wallets.lock, "ORDER BY merchant_id FOR UPDATE", _BY_CHANCE.format("merchant_id")),
    InConstant(initiate_inputs, "_STATEMENT", "ORDER BY merchant_id FOR UPDATE", _BY_CHANCE.format("merchant_id")),
)
_CONTENTION_RETRIED = InFunction(errors.meaning_of, "state in _CONTENTION", "state in _CONTENTION - {'40P01', '40001'}")
SAFEGUARDS = (
    Safeguard(
        "wallet-locked",
        "Balances are read under a lock that lasts until the commit.",
        (
            InFunction(wallets.lock, "ORDER BY merchant_id FOR UPDATE", "ORDER BY merchant_id"),
            InConstant(initiate_inputs, "_STATEMENT", "ORDER BY merchant_id FOR UPDATE", "ORDER BY merchant_id"),
        ),
    ),
    Safeguard(
        "payment-locked",
        "Answers about one payment are taken in one after the other.",
        (InFunction(dispatches.lock, "ORDER BY t.merchant_id, t.id FOR UPDATE", "ORDER BY t.merchant_id, t.id"),),
        note="two answers about one payment must come at once; without a restore, seed 61 of an earlier version "
        "noticed (broke)",
    ),
    Safeguard(
        "claim-locked",
        "Two workers do not claim the same payment.",
        (InFunction(claims.lock_new, "FOR UPDATE OF d, t SKIP LOCKED", ""),),
    ),
    Safeguard(
        "cancel-locked",
        "Whether a payment can be cancelled is looked at under its lock.",
        (InFunction(transactions.lock, "ORDER BY t.merchant_id, t.id FOR UPDATE", "ORDER BY t.merchant_id, t.id"),),
    ),
    Safeguard(
        "status-expected",
        "A status is written only over the status that was read.",
        (InConstant(status_writes, "_ADVANCE", "AND t.status = new.expected", ""),),
        note="covered by payment-locked and claim-locked",
    ),
    Safeguard(
        "locks-sorted",
        "Locks are taken in one order, so that there are no deadlocks.",
        _UNSORTED,
        note="covered by contention-retried",
    ),
    Safeguard(
        "contention-retried",
        "A batch that met a deadlock runs again.",
        (_CONTENTION_RETRIED,),
        note="covered by locks-sorted: there are no deadlocks",
    ),
    Safeguard(
        "locks-sorted+contention-retried",
        "Both together: a deadlock fails nobody.",
        (*_UNSORTED, _CONTENTION_RETRIED),
        note="not simulated: one statement locks all rows, and statements do not run at once here; tests on real "
        "connections hold it",
    ),
    Safeguard(
        "step-unique",
        "The database books no step of a payment twice.",
        (),
        ("ALTER TABLE moves DROP CONSTRAINT moves_pkey",),
        note="covered by payment-locked: it is there for a bug of the code",
        checks=("moves_pkey",),
    ),
)
