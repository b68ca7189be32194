"""The moves of each decision: a grid by hand, compared with the moves in the ledger."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.ledger import check as ledger_check
from malipo.ledger.accounts import Account, Move
from malipo.networks.connector import Channel, Type
from malipo.payments.correction_moves import Correction
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction
from malipo.reconciliation.close.store import balances
from malipo.reconciliation.exceptions.action import ACTIONS, Action
from malipo.reconciliation.exceptions.action_moves import ActionFacts, effect_of
from malipo.reconciliation.exceptions.find_effect import find_balances, find_effect
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.matching.exception import ExceptionKind, ExceptionState, ReconciliationException
from tests.conftest import make_merchant
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.statement_days import Entry, Statements, line_of, reversal_of, statements

__all__ = ["desk", "statements", "steps"]

NOW = datetime(2026, 11, 1, tzinfo=UTC)
IN, OUT = Type.COLLECTION, Type.DISBURSEMENT
OPEN, DONE, FAILED = Status.PROCESSING, Status.COMPLETED, Status.FAILED
AMOUNT, FEE = 2_000_000, 30


def an_exception(kind: str, line: int | None, followed: int = 0) -> ReconciliationException:
    return ReconciliationException(
        id="exc_1",
        kind=ExceptionKind(kind),
        channel=Channel.MPESA,
        account="",
        amount=0,
        found_at=NOW,
        state=ExceptionState.OPEN,
        resolved_by=None,
        resolved_at=None,
        why_resolved=None,
        line_id=None if line is None else 1,
        receipt=None,
        line_kind=None,
        line_amount=line,
        moved_at=None,
        key=None,
        phone=None,
        details=None,
        file_id=None,
        merchant_id=None,
        transaction_id=None,
        reference=None,
        type=None,
        status=None,
        payment_amount=None,
        followed=followed,
    )


@pytest.mark.parametrize(
    ("line", "kind", "is_payment_line", "type_", "expected"),
    [
        (-500, "money", True, None, True),
        (-500, "fee", True, None, True),  # one file calls it a fee, and another a payment
        (-500, "fee", False, None, False),
        (500, "money", True, None, False),
        (500, "money", True, OUT, True),
    ],
)
def test_money_out_is_a_payout_if_any_file_calls_it_a_payment(
    line: int, kind: str, is_payment_line: bool, type_: Type | None, expected: bool
) -> None:
    found = replace(an_exception("theirs_only", line), line_kind=kind, is_payment_line=is_payment_line, type=type_)
    assert found.is_payout is expected


def a_payment(type_: Type, status: Status) -> Transaction:
    return Transaction(
        merchant_id="mrc_1",
        id="txn_1",
        reference="MLP-1",
        network_key="K1",
        type=type_,
        channel=Channel.MPESA,
        status=status,
        amount=AMOUNT,
        fee=FEE,
        phone="",
        name="",
        description="",
        metadata={},
        created_at=NOW,
    )


def a_correction(*, is_paid: bool, source: AnswerSource | None = None, **changes: Any) -> Correction:
    return Correction(is_paid=is_paid, is_fee_paid=not is_paid, source=source, ordinal=1, **changes)


# A kind, its line, what the float has of the payment, the action and its terms, the payment; then which accounts of the
# ledger change by how much, and how many shillings are moved. A float that rises falls in the ledger: it is money that
# we have elsewhere.
SUSPENSE, LOSSES = {"account": "suspense"}, {"account": "losses"}
GRID: list[tuple[str, int | None, int, str, dict[str, str], tuple[Type, Status] | None, dict[str, int], int]] = [
    # A line that nothing fits is booked whole, in and out, to each account.
    ("theirs_only", 500, 0, "book", SUSPENSE, None, {"float": -500, "suspense": 500}, 500),
    ("theirs_only", -500, 0, "book", LOSSES, None, {"float": 500, "losses": -500}, 500),
    ("theirs_only", -500, 0, "book", {"account": "network_fees"}, None, {"float": 500, "network_fees": -500}, 500),
    ("theirs_only", 500, 0, "book", {"account": "bank"}, None, {"float": -500, "bank": 500}, 500),
    ("twice", -AMOUNT, -AMOUNT, "book", SUSPENSE, (OUT, DONE), {"float": AMOUNT, "suspense": -AMOUNT}, AMOUNT),
    ("unknown_line", 7, 0, "book", SUSPENSE, None, {"float": -7, "suspense": 7}, 7),
    # Another amount: only what the float does not have yet. All of it, if it has nothing.
    ("amount_differs", -2_001_000, -AMOUNT, "book", SUSPENSE, (OUT, DONE), {"float": 1_000, "suspense": -1_000}, 1_000),
    ("amount_differs", 1_900_000, AMOUNT, "book", LOSSES, (IN, DONE), {"float": 100_000, "losses": -100_000}, 100_000),
    ("amount_differs", -2_001_000, 0, "book", SUSPENSE, (OUT, OPEN), {"float": 2_001_000, "suspense": -2_001_000}, 2_001_000),
    ("amount_differs", -AMOUNT, AMOUNT, "book", SUSPENSE, (IN, DONE), {"float": AMOUNT, "suspense": -AMOUNT}, AMOUNT),
    # A line is a payment's: what it does depends on what the payment is.
    ("theirs_only", AMOUNT, 0, "match", {}, (IN, DONE), {}, 0),
    ("theirs_only", AMOUNT, 0, "match", {}, (IN, OPEN), {"float": -AMOUNT, "wallet": AMOUNT - FEE, "fees": FEE}, AMOUNT),
    ("theirs_only", -AMOUNT, 0, "match", {}, (OUT, OPEN), {"in_flight": -AMOUNT - FEE, "float": AMOUNT, "fees": FEE}, AMOUNT + FEE),
    ("theirs_only", -AMOUNT, 0, "match", {}, (OUT, FAILED), {"float": AMOUNT, "suspense": -AMOUNT}, AMOUNT),
    ("twice", AMOUNT, 0, "match", {}, (IN, FAILED), {"float": -AMOUNT, "wallet": AMOUNT - FEE, "fees": FEE}, AMOUNT),
    ("amount_differs", -2_001_000, -AMOUNT, "match", {}, (OUT, DONE), {"float": 1_000, "suspense": -1_000}, 1_000),
    ("unknown_line", AMOUNT + 5, 0, "match", {}, (IN, OPEN), {"float": -AMOUNT - 5, "wallet": AMOUNT - FEE, "fees": FEE, "suspense": 5}, AMOUNT + 5),
    # A payment that we have lost, with the merchant's fee. The wallet holds 1,000,000.
    ("theirs_only", AMOUNT, 0, "adopt", {}, (IN, OPEN), {"float": -AMOUNT, "wallet": AMOUNT - FEE, "fees": FEE}, AMOUNT),
    ("unknown_line", AMOUNT, 0, "adopt", {}, (IN, OPEN), {"float": -AMOUNT, "wallet": AMOUNT - FEE, "fees": FEE}, AMOUNT),
    # What became of a payment.
    ("ours_only", None, -AMOUNT, "resolve", {"outcome": "failed"}, (OUT, DONE), {"float": -AMOUNT, "wallet": AMOUNT + FEE, "fees": -FEE}, AMOUNT + FEE),
    ("ours_only", None, 0, "resolve", {"outcome": "failed"}, (OUT, OPEN), {"in_flight": -AMOUNT - FEE, "wallet": AMOUNT + FEE}, AMOUNT + FEE),
    ("ours_only", None, 0, "resolve", {"outcome": "failed"}, (IN, OPEN), {}, 0),
    ("ours_only", None, AMOUNT, "resolve", {"outcome": "failed"}, (IN, DONE), {"float": AMOUNT, "wallet": -1_000_000, "suspense": -1_000_000}, AMOUNT),
    ("ours_only", None, AMOUNT, "resolve", {"outcome": "completed"}, (IN, DONE), {}, 0),
    ("state_differs", -AMOUNT, -AMOUNT, "resolve", {"outcome": "completed"}, (OUT, FAILED), {"float": AMOUNT, "wallet": -1_000_000, "suspense": -1_000_000}, AMOUNT),
    *((kind, 5, 0, "note", {}, None, {}, 0) for kind in ExceptionKind),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line", "followed", "action", "terms", "payment", "changes", "moved"), GRID)
def test_each_decision_moves_what_the_table_says(
    kind: str,
    line: int | None,
    followed: int,
    action: str,
    terms: dict[str, str],
    payment: tuple[Type, Status] | None,
    changes: dict[str, int],
    moved: int,
) -> None:
    facts = ActionFacts(
        exception=an_exception(kind, line, followed),
        payment=None if payment is None else a_payment(*payment),
        available=1_000_000,
    )
    effect = effect_of(Action(action), terms, facts)
    assert {str(account): change for (account, _), change in effect.changes.items()} == changes
    assert (effect.amount, sum(changes.values())) == (moved, 0)


@pytest.mark.parametrize(
    ("type_", "changes", "owed"),
    [
        (IN, {"wallet": AMOUNT - FEE, "fees": FEE, "suspense": -AMOUNT}, AMOUNT - FEE),
        # The wallet holds 1,000,000, which it gets back when operators have decided. The house has lent the rest.
        (OUT, {"wallet": -1_000_000, "fees": FEE, "suspense": 1_000_000 - FEE}, 0),
    ],
)
def test_a_payment_that_was_lost_and_taken_back_moves_no_float(type_: Type, changes: dict[str, int], owed: int) -> None:
    line = AMOUNT if type_ is IN else -AMOUNT
    facts = ActionFacts(
        exception=an_exception("theirs_only", line),
        payment=a_payment(type_, Status.PENDING),
        available=1_000_000,
        is_taken_back=True,
    )
    effect = effect_of(Action.ADOPT, {}, facts)
    assert {str(account): change for (account, _), change in effect.changes.items()} == changes
    assert (effect.owed, sum(changes.values())) == (owed, 0)


def test_the_grid_has_every_action_of_every_kind() -> None:
    have = {(kind, action) for kind, _, _, action, *_ in GRID}
    assert have == {(kind, action) for kind, actions in ACTIONS.items() for action in actions}


def test_a_decision_after_the_float_has_followed_moves_only_the_rest() -> None:
    """FAILED, and paid by its statement: the float has followed, the wallet gives what it holds, or the house bears."""
    facts = ActionFacts(
        exception=an_exception("state_differs", -AMOUNT, -AMOUNT),
        payment=a_payment(OUT, FAILED),
        correction=a_correction(is_paid=True, source=AnswerSource.STATEMENT, owed=AMOUNT + FEE),
        available=3_000_000,
    )
    paid = effect_of(Action.RESOLVE, {"outcome": "completed"}, facts)
    assert paid.changes == {("suspense", None): AMOUNT, ("wallet", None): -AMOUNT - FEE, ("fees", None): FEE}
    assert paid.owed == -AMOUNT - FEE
    borne = effect_of(Action.RESOLVE, {"outcome": "failed"}, facts)
    assert borne.changes == {("suspense", None): AMOUNT, ("losses", None): -AMOUNT - FEE, ("fees", None): FEE}


def test_an_undo_moves_back_what_was_booked_and_corrects_what_was_adopted() -> None:
    booked = Move(Account.FLOAT, Account.SUSPENSE, 500, "MPESA")
    facts = ActionFacts(exception=an_exception("theirs_only", 500), undone=Action.BOOK, undone_booking=booked)
    assert effect_of(Action.UNDO, {}, facts).changes == {("float", "MPESA"): 500, ("suspense", None): -500}
    matched = ActionFacts(
        exception=an_exception("theirs_only", AMOUNT), undone=Action.MATCH, payment=a_payment(IN, DONE)
    )
    assert effect_of(Action.UNDO, {}, matched).amount == 0
    adopted = ActionFacts(
        exception=an_exception("theirs_only", AMOUNT),
        undone=Action.ADOPT,
        payment=a_payment(IN, DONE),
        available=AMOUNT,
    )
    assert effect_of(Action.UNDO, {}, adopted).changes == {
        ("float", "MPESA"): AMOUNT,
        ("wallet", None): FEE - AMOUNT,
        ("fees", None): -FEE,
    }


async def decided(
    statements: Statements,
    desk: ExceptionDesk,
    found: ReconciliationException,
    action: Action,
    terms: Mapping[str, str],
) -> None:
    """Decide it, and require that the ledger changed as it was shown before."""
    async with statements.database.snapshot() as connection:
        before = await ledger_check.balances(connection)
        shown = await find_effect(
            connection, found, action, terms, await find_balances(connection), credits_automatically=True
        )
        owed = await connection.fetchval("SELECT sum(owed)::bigint FROM wallets")
    assert shown is not None
    if action is Action.UNDO:
        done = await desk.undo(found)
    else:
        done = await desk.propose(found, action, terms)
    if done.state is ExceptionState.PROPOSED:
        await desk.approve(found)
    async with statements.database.snapshot() as connection:
        after = await ledger_check.balances(connection)
        owed = await connection.fetchval("SELECT sum(owed)::bigint FROM wallets") - owed
    flipped = ("float", "bank", "network_fees", "losses")
    said = {each.account: each.after - each.before for each in shown}
    changed = {name: after.get(name, 0) - before.get(name, 0) for name in after.keys() | before.keys()}
    by_account = {name.split()[0]: -by if name.split()[0] in flipped else by for name, by in changed.items() if by}
    assert said == by_account | ({"owed": owed} if owed else {})
    for each in shown:
        name = f"float {each.of}" if each.account == "float" else each.account
        if each.account not in ("wallet", "in_flight", "owed"):
            held = -before.get(name, 0) if each.account in flipped else before.get(name, 0)
            assert each.before == held, each
    await statements.check_ledger()
    async with statements.database.begin() as tx:
        _, _, then = await balances.find_wallets(tx, clock.now() + timedelta(days=1))
        assert then == await tx.fetchval("SELECT sum(owed)::bigint FROM wallets"), "the close finds it from the moves"


async def test_the_preview_of_a_decision_is_what_the_ledger_then_has(
    statements: Statements, desk: ExceptionDesk
) -> None:
    await statements.steps.charge_fees()
    soko = await make_merchant(statements.database, wallet=200, name="Soko")
    async with statements.database.begin() as tx:
        for type_ in Type:
            await tx.execute("INSERT INTO tariffs VALUES ($1, $2, 'MPESA', 0, 40, 0, 0, NULL)", soko.id, type_)
    differs = await statements.completed(OUT, 2_000)
    open_in, open_out = await statements.steps.processing(IN, 311), await statements.steps.processing(OUT, 312)
    failed_in = await statements.steps.ended(IN, Status.FAILED, 313)
    failed_out = await statements.steps.ended(OUT, Status.FAILED, 314)
    reversed_ = await statements.completed(IN, 315)
    absent = await statements.completed(OUT, 316)
    lines = [line_of(each, f"T{each.amount}", key="") for each in (open_in, open_out, failed_in)]
    back = line_of(reversed_)
    now = clock.now()
    await statements.take(
        line_of(differs, amount=-2_500),
        *lines,
        line_of(failed_out),
        back,
        reversal_of(back),
        Entry("L1", 5_000, now),
        Entry("L2", -6_000, now),
        Entry("B1", 777, now),
    )
    found = {each.receipt or each.transaction_id: each for each in await statements.open_exceptions()}
    undoable = {
        differs.provider_reference: (Action.BOOK, {"account": "network_fees"}),
        "T311": (Action.MATCH, {"payment": open_in.reference}),
        "T312": (Action.MATCH, {"payment": open_out.reference}),
        "T313": (Action.MATCH, {"payment": failed_in.reference}),
        "L1": (Action.ADOPT, {"merchant": soko.id, "phone": "+255754000001"}),
        "L2": (Action.ADOPT, {"merchant": "Soko", "phone": "+255754000001"}),
        "B1": (Action.BOOK, {"account": "bank"}),
    }
    for name, (action, terms) in undoable.items():
        await decided(statements, desk, found[name], action, terms)
    for name, outcome in ((f"R{failed_out.network_key}", "completed"), (f"{back.receipt}R", "failed")):
        await decided(statements, desk, found[name], Action.RESOLVE, {"outcome": outcome})
    await statements.match()
    [ours] = [each for each in await statements.open_exceptions() if each.kind == "ours_only"]
    assert ours.transaction_id == absent.id
    await decided(statements, desk, ours, Action.RESOLVE, {"outcome": "failed"})
    for name in undoable:
        async with statements.database.read() as connection:
            last = await connection.fetchval(
                "SELECT max(id) FROM exception_resolutions WHERE exception_id = $1", found[name].id
            )
        await decided(statements, desk, found[name], Action.UNDO, {"resolution": last})


async def test_the_preview_of_adopting_a_reversed_line_is_what_the_ledger_then_has(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """The wallet has all of a payout, some of it, or nothing."""
    await make_merchant(statements.database, wallet=700, name="Soko")
    await make_merchant(statements.database, wallet=0, name="Genge")
    now = clock.now()
    adopted = {"IN": ("Soko", 5_000), "ALL": ("Soko", -500), "SOME": ("Soko", -9_000), "NONE": ("Genge", -300)}
    lines = [Entry(receipt, amount, now) for receipt, (_, amount) in adopted.items()]
    await statements.take(*lines, *map(reversal_of, lines))
    for receipt, (merchant, _) in adopted.items():
        [found] = [each for each in await statements.open_exceptions() if each.receipt == receipt]
        await decided(statements, desk, found, Action.ADOPT, {"merchant": merchant, "phone": "+255754000001"})
        async with statements.database.read() as connection:
            [done] = await resolutions.find(connection, found.id)
        await decided(statements, desk, found, Action.UNDO, {"resolution": done.id})
    assert await statements.float_change() == 0


async def test_the_preview_of_a_line_with_cents_is_what_the_ledger_then_has(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """The cents of the second line make a shilling, which is booked as rounding, and booked back with the line."""
    paid, differs = await statements.completed(), await statements.completed()
    now = clock.now()
    await statements.take(
        Entry("I1", Decimal("7.40"), now, "Interest"),
        Entry("I2", Decimal("7.40"), now, "Interest"),
        line_of(paid, amount=1000 + Decimal("0.40")),
        line_of(differs, amount=1000 + Decimal("0.40")),
    )
    found = {each.receipt: each for each in await statements.open_exceptions()}
    decisions: dict[str | None, tuple[Action, dict[str, str]]] = {
        "I1": (Action.BOOK, {"account": "suspense"}),
        "I2": (Action.BOOK, {"account": "suspense"}),
        paid.provider_reference: (Action.MATCH, {"payment": paid.id}),
        differs.provider_reference: (Action.BOOK, {"account": "suspense"}),
    }
    for receipt, (action, terms) in decisions.items():
        await decided(statements, desk, found[receipt], action, terms)
    for receipt in decisions:
        async with statements.database.read() as connection:
            [done] = await resolutions.find(connection, found[receipt].id)
        await decided(statements, desk, found[receipt], Action.UNDO, {"resolution": done.id})
    assert await statements.float_change() == 2000
