"""The ledger check of corrections: whatever was tampered with is found and named."""

from contextlib import suppress

import pytest

from malipo import clock
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.check import LedgerFinding
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.check import transactions as transactions_check
from malipo.payments.transaction import Status, Type
from tests.journeys import database_facts
from tests.payments.contradictions import JUMA, propose, resolve_by_all
from tests.payments.contradictions import steps as steps
from tests.payments.payment_steps import PaymentSteps


@pytest.fixture
async def names(steps: PaymentSteps) -> dict[str, str]:
    """Contradicted payments of both types, open and cleared; a few others beside them."""
    names = {"merchant": steps.merchant_id}
    for type_ in Type:
        for status in (Status.FAILED, Status.COMPLETED):
            name = f"{type_}_{status}".lower()
            names[name] = (await steps.contradicted(type_, status)).id
            for outcome in (ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED):
                cleared = await steps.contradicted(type_, status)
                await resolve_by_all(steps.database, cleared, outcome)
                names[f"{name}_{outcome}"] = cleared.id
        names[f"{type_}_open".lower()] = (await steps.open(type_)).id
    # What was only proposed, or was rejected, moves nothing.
    await propose(steps.database, names["disbursement_failed"], ResolvedOutcome.COMPLETED)
    await propose(steps.database, names["disbursement_completed"], ResolvedOutcome.FAILED)
    async with steps.database.begin() as tx:
        await resolve.reject(tx, names["disbursement_completed"], actor=JUMA, now=clock.now())
    partly = await steps.contradicted(Type.DISBURSEMENT, Status.FAILED)
    names["owing"] = partly.id
    names["processing"] = (await steps.processing(Type.DISBURSEMENT)).id
    names["ended"] = (await steps.ended(Type.COLLECTION, Status.COMPLETED)).id
    await database_facts.assert_clean(steps.database)
    return names


_MOVE = """
    INSERT INTO moves (merchant_id, cause_id, step, ordinal, move_number, source, target, channel, amount, created_at)
    VALUES ('{merchant}', '{%s}', '%s', %d, %d, '%s', '%s', %s, 1000, now())
"""
_OF = "WHERE cause_id = '{%s}' AND step = '%s'"
_CORRECTION = "UPDATE corrections SET %s WHERE transaction_id = '{%s}'"
# What is changed in the ledger by hand, and what the findings must name.
TAMPERED = {
    "a contradiction of another amount": (
        "UPDATE moves SET amount = 999 " + _OF % ("disbursement_failed", "contradiction"),
        "disbursement_failed",
    ),
    "a contradiction the wrong way round": (
        "UPDATE moves SET source = target, target = source " + _OF % ("collection_failed", "contradiction"),
        "collection_failed",
    ),
    "a contradiction out of the bank": (
        "UPDATE moves SET source = 'bank', channel = NULL " + _OF % ("collection_failed", "contradiction"),
        "collection_failed",
    ),
    "a contradiction on another channel's float": (
        "UPDATE moves SET channel = 'HALOPESA' " + _OF % ("collection_failed", "contradiction"),
        "collection_failed",
    ),
    "a contradiction twice": (
        _MOVE % ("disbursement_completed", "contradiction", 1, 2, "float", "suspense", "'MPESA'"),
        "disbursement_completed",
    ),
    "a contradiction again": (
        _MOVE % ("disbursement_completed", "contradiction", 2, 1, "float", "suspense", "'MPESA'"),
        "disbursement_completed",
    ),
    "a contradiction of a payment that is open": (
        _MOVE % ("processing", "contradiction", 1, 1, "suspense", "float", "'MPESA'"),
        "processing",
    ),
    "a contradiction of a payment that does not exist": (
        "UPDATE moves SET cause_id = 'txn_nowhere' " + _OF % ("collection_failed", "contradiction"),
        "txn_nowhere",
    ),
    "a status that changed after the contradiction": (
        """
        UPDATE transactions SET status = 'COMPLETED', failure_code = NULL, failure_reason = NULL
        WHERE id = '{collection_failed}'
        """,
        "collection_failed",
    ),
    "a resolution of something that was not contradicted": (
        _MOVE % ("ended", "resolution", 1, 1, "suspense", "float", "'MPESA'"),
        "ended",
    ),
    "a resolution whose contradiction is gone": (
        "DELETE FROM moves " + _OF % ("disbursement_failed_failed", "contradiction"),
        "disbursement_failed_failed",
    ),
    "a resolution of another amount": (
        "UPDATE moves SET amount = 999 " + _OF % ("disbursement_failed_failed", "resolution") + " AND move_number = 1",
        "disbursement_failed_failed",
    ),
    "a fee that was not given back": (
        "DELETE FROM moves " + _OF % ("disbursement_completed_failed", "resolution") + " AND source = 'fees'",
        "disbursement_completed_failed",
    ),
    "a loss that was booked to the bank": (
        "UPDATE moves SET source = 'bank' "
        + _OF % ("disbursement_failed_failed", "resolution")
        + " AND move_number = 1",
        "disbursement_failed_failed",
    ),
    "a resolution that nobody has said": (
        "DELETE FROM resolutions WHERE transaction_id = '{disbursement_completed_failed}'",
        "disbursement_completed_failed",
    ),
    "a resolution of more than was said": (
        "UPDATE resolutions SET credited = credited + 1 WHERE transaction_id = '{collection_failed_completed}'",
        "collection_failed_completed",
    ),
    "a resolution that is gone, though operators have said it": (
        "DELETE FROM moves " + _OF % ("disbursement_completed_completed", "resolution"),
        "disbursement_completed_completed",
    ),
    "a correction that is gone": (
        "DELETE FROM corrections WHERE transaction_id = '{collection_failed}'",
        "collection_failed",
    ),
    "a debt that was lowered": (_CORRECTION % ("owed = owed - 1", "owing"), "owing"),
    "a debt that the wallet does not know": (
        "UPDATE wallets SET owed = 0 WHERE merchant_id = '{merchant}'",
        "merchant",
    ),
    "a case that was closed by hand": (_CORRECTION % ("is_open = false", "collection_failed"), "collection_failed"),
    "a word that was turned round": (_CORRECTION % ("is_paid = NOT is_paid", "owing"), "owing"),
    "a credit that was not moved": (_CORRECTION % ("credited = credited + 5", "owing"), "owing"),
    "a loss that was not moved": (
        _CORRECTION % ("borne = borne + 5", "disbursement_failed_failed"),
        "disbursement_failed_failed",
    ),
    "a fee that was booked and is not said to be": (
        _CORRECTION % ("is_fee_paid = NOT is_fee_paid", "disbursement_failed_failed"),
        "disbursement_failed_failed",
    ),
    "a correction that was never told": (
        "DELETE FROM events WHERE transaction_id = '{owing}' AND event LIKE '%.corrected'",
        "owing",
    ),
    "a correction that was told and is not true": (
        """
        INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at)
        VALUES ('{merchant}', 'evt_false', '{ended}', 'payment.corrected', '{{}}', now())
        """,
        "ended",
    ),
    "a pending payment that nobody would send": (
        "DELETE FROM dispatches WHERE transaction_id = '{collection_open}'",
        "collection_open",
    ),
    "a payment on its way that nobody would ask about": (
        "DELETE FROM dispatches WHERE transaction_id = '{processing}'",
        "processing",
    ),
}


class _TakenBack(Exception):  # noqa: N818
    """Ends a transaction without a trace."""


async def _findings_after(database: Database, tampering: str, *, rows: int | None = None) -> str:
    found: list[LedgerFinding] = []
    with suppress(_TakenBack):
        async with database.begin() as tx:
            done = await tx.execute(tampering)
            assert done.split()[-1] not in ("0",), f"nothing was tampered with: {tampering}"
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
