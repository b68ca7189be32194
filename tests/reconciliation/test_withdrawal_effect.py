"""The effect of a withdrawal is shown before the decision, account by account, and equals what is then done."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.find_effect import AccountChange, ImportEffect, ImportNote, find_balances
from malipo.reconciliation.imports.find_import_effect import find_import_effect
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store import statements as files
from tests.operators.booking_steps import NEEMA
from tests.payments.payment_steps import steps
from tests.reconciliation.import_desk import ImportDesk
from tests.reconciliation.statement_days import (
    ASHA,
    JUMA,
    OPENING,
    WORKER,
    Entry,
    Statements,
    fee_of,
    line_of,
    statements,
)

__all__ = ["statements", "steps"]

LIMIT = 1_000_000
WITHDRAW = WithdrawStatements(LIMIT)
WHY = "It is the statement of another till"
DAY = (clock.now() - timedelta(days=3)).replace(hour=9, minute=0, second=0, microsecond=0)


async def effect_on(statements: Statements, file: StatementFile) -> ImportEffect:
    async with statements.database.snapshot() as connection:
        found = await find_import_effect(connection, file, approval_amount=LIMIT, now=clock.now())
    assert found is not None
    return found


def rows(changes: list[AccountChange]) -> list[tuple[str, int, int]]:
    return [(each.account, each.before, each.after) for each in changes]


async def held(statements: Statements) -> dict[str, int]:
    """As people count it."""
    async with statements.database.snapshot() as connection:
        found = await find_balances(connection)
    house = {name: found.house.get(name, 0) for name in ("suspense", "rounding")}
    return house | {"float": found.floats.get("MPESA", 0), "network_fees": -found.house.get("network_fees", 0)}


async def do_as_shown(statements: Statements, file: StatementFile, *, undo: str | None = None) -> None:
    """Take it back, and compare every account with what was shown."""
    shown, before = await effect_on(statements, file), await held(statements)
    changes = shown.withdrawal if undo is None else shown.undos[undo]
    assert {each.account: each.before for each in changes}.items() <= before.items()
    how: dict[str, Any] = {"reason": WHY, "actor": ASHA, "now": clock.now()}
    async with statements.database.begin() as tx:
        if undo is None:
            await WITHDRAW.propose_withdrawal(tx, file.id, **how)
        else:
            assert (await WITHDRAW.propose_undo(tx, undo, **how)).is_approved
    if undo is None:
        async with statements.database.begin() as tx:
            await WITHDRAW.approve(tx, file.id, actor=JUMA, now=clock.now())
    await statements.match()
    assert await held(statements) == before | {each.account: each.after for each in changes}
    await statements.check_ledger()


async def test_a_withdrawals_preview_has_each_account_before_and_after_and_what_is_undone_and_what_stays(
    statements: Statements,
) -> None:
    paid = await statements.completed(Type.COLLECTION, 900)
    failed = await statements.steps.ended(Type.COLLECTION, Status.FAILED, 400)
    lines = [line_of(paid), fee_of(line_of(paid), 7), line_of(failed), fee_of(line_of(failed), 5)]
    lines.append(Entry("S", -40, DAY, "Sweep between accounts"))
    file = (await statements.load(statements.write(*lines))).file
    await statements.match()
    start = (await held(statements))["float"]
    shown = await effect_on(statements, file)
    assert [each for each in rows(shown.withdrawal) if each[0] != "suspense"] == [
        ("float", start, start + 7 + 5 + 40),
        ("network_fees", 12, 0),
    ]
    [(_, before, after)] = [each for each in rows(shown.withdrawal) if each[0] == "suspense"]
    assert after - before == 40, "the sweep is booked back"
    assert [rows(each) for each in shown.undos.values() if each[1].account == "network_fees"] == [
        [("float", start, start + 12), ("network_fees", 12, 0)]
    ]
    assert len(shown.undos) == 2
    assert shown.notes == [(ImportNote.MATCHES, 2), (ImportNote.STAYS, 1)]
    await do_as_shown(statements, file, undo=next(iter(shown.undos)))
    assert len((await effect_on(statements, file)).undos) == 1, "what was undone cannot be undone again"


@pytest.mark.parametrize(
    ("withdrawn", "fees", "elsewhere"),
    [
        ("one", (12, 9), 2),  # Its own 3 goes. The 4 and the sweep are the other's too.
        ("two", (12, 7), 0),  # Its own 5 goes. What both have belongs to the first.
    ],
)
async def test_of_two_files_that_overlap_only_what_the_other_lacks_changes(
    statements: Statements, withdrawn: str, fees: tuple[int, int], elsewhere: int
) -> None:
    lines = [Entry(f"F{fee}", -fee, DAY + timedelta(hours=fee), "Fee") for fee in (3, 4, 5)]
    lines.insert(2, Entry("S", -20, DAY + timedelta(hours=4, minutes=10), "Sweep between accounts"))
    middle = DAY + timedelta(hours=3, minutes=30), DAY + timedelta(hours=4, minutes=30)
    one = statements.write(*lines[:3], begins=DAY, ends=middle[1], name="one.csv")
    two = statements.write(*lines[1:], begins=middle[0], ends=DAY + timedelta(hours=6), opening=OPENING - 3, name="two")
    loaded = {path.stem: (await statements.load(path)).file for path in (one, two)}
    await statements.match()
    float_ = (await held(statements))["float"]
    shown = await effect_on(statements, loaded[withdrawn])
    assert rows(shown.withdrawal) == [("float", float_, float_ + fees[0] - fees[1]), ("network_fees", *fees)]
    assert shown.elsewhere == elsewhere
    assert (ImportNote.ELSEWHERE in dict(shown.notes)) == bool(elsewhere)
    await do_as_shown(statements, loaded[withdrawn])


async def test_a_withdrawal_changes_nothing_if_another_file_has_all_lines(statements: Statements) -> None:
    shared, more = Entry("F", -4, DAY, "Fee"), Entry("G", -6, DAY + timedelta(hours=2), "Fee")
    ends = DAY + timedelta(hours=1)
    small = (await statements.load(statements.write(shared, begins=DAY, ends=ends, name="small.csv"))).file
    await statements.load(statements.write(shared, more, begins=DAY, ends=ends + timedelta(hours=2), name="large.csv"))
    await statements.match()
    shown = await effect_on(statements, small)
    assert (shown.withdrawal, shown.elsewhere) == ([], 1)
    assert [rows(each)[1] for each in shown.undos.values()] == [("network_fees", 10, 6)]
    await do_as_shown(statements, small)
    async with statements.database.snapshot() as connection:
        gone = await files.get(connection, small.id)
        assert gone is not None
        shown_then = await find_import_effect(connection, gone, approval_amount=LIMIT, now=clock.now())
        assert shown_then is None, "it was withdrawn"


@pytest.mark.parametrize("is_undo", [False, True])
async def test_cents_that_become_a_shilling_are_in_it(statements: Statements, is_undo: bool) -> None:
    """Twice 0.60 is booked as 1 and 1; the 80 cents too many are a shilling of the rounding."""
    days = [DAY, DAY + timedelta(days=1)]
    lines = [Entry(f"F{at:%d}", Decimal("-0.60"), at, "Fee") for at in days]
    file = (await statements.load(statements.write(*lines))).file
    await statements.match()
    start = (await held(statements))["float"]
    shown = await effect_on(statements, file)
    assert rows(shown.withdrawal) == [("float", start, start + 1), ("network_fees", 2, 0), ("rounding", 1, 0)]
    # Of one: 0.60 is left, which is booked as 1, and the shilling of the rounding goes: the float is the same.
    first = next(iter(shown.undos))
    assert rows(shown.undos[first]) == [("network_fees", 2, 1), ("rounding", 1, 0)]
    await do_as_shown(statements, file, undo=first if is_undo else None)


@pytest.mark.parametrize(("is_shared", "is_undo"), [(False, False), (True, False), (False, True)])
async def test_a_payment_whose_line_has_the_words_of_a_fee_is_not_booked_as_one(
    statements: Statements, is_shared: bool, is_undo: bool
) -> None:
    """It has its place, on the day of a fee that is booked anew or undone."""
    paid = await statements.completed(Type.DISBURSEMENT, 600)
    begins, end = paid.created_at, paid.created_at + timedelta(seconds=40 if is_shared else 10)
    fee, line = Entry("F", -4, begins, "Fee"), line_of(paid, details="Fee")
    one = statements.write(*([fee, line] if is_shared else [fee]), begins=begins, ends=end, name="one.csv")
    two = statements.write(fee, line, begins=begins, name="two.csv")
    if is_undo:
        one = two
    file = (await statements.load(one)).file
    await statements.load(two)
    await statements.match()
    assert await held(statements) == {"suspense": 0, "rounding": 0, "float": -604, "network_fees": 4}
    [undo] = (await effect_on(statements, file)).undos
    await do_as_shown(statements, file, undo=undo if is_undo else None)
    assert [role for _, _, role in await statements.matches()] == ["payment"]
    assert await statements.kinds() == ([("unknown_line", -4)] if is_undo else [])


@pytest.mark.parametrize(
    ("heirs", "moved", "waits"),
    [
        ([(NEEMA, "Fee", 600_000)], 0, 0),
        ([(NEEMA, "Fee", 600_000)], 500_000, 1),  # with what she has moved alone, it is more than one may
        ([(NEEMA, "Fee", 1_200_000)], 0, 1),
        ([(NEEMA, "Fee", 600_000), (NEEMA, "Fee", 600_000)], 0, 1),  # two files of one operator
        ([(NEEMA, "Fee", 600_000), (JUMA, "Fee", 600_000)], 0, 0),
        ([(WORKER, "Fee", 1_200_000)], 0, 0),
        ([(NEEMA, "Sent to 255754000666", 600_000)], 0, 0),  # and is no fee any more
        ([(NEEMA, "Sweep between accounts", 1_200_000)], 0, 1),
    ],
)
async def test_a_withdrawals_preview_shows_the_facts_that_an_operators_file_takes_over(
    statements: Statements, heirs: list[tuple[Actor, str, int]], moved: int, waits: int
) -> None:
    desk = ImportDesk(statements)
    hours = [DAY + timedelta(hours=number) for number in range(3)]
    entries = [Entry(f"F{number}", -amount, hours[number], "Fee") for number, (_, _, amount) in enumerate(heirs)]
    file = (await desk.bring(statements.write(*entries, begins=DAY))).file
    await statements.match()
    if await desk.waiting():
        await desk.approve(file.id)
    for number, (by, details, _) in enumerate(heirs):
        entry, opening = replace(entries[number], details=details), OPENING + sum(e.amount for e in entries[:number])
        path = statements.write(entry, begins=hours[number], ends=hours[number + 1], opening=opening)
        await desk.bring(path, by)
    if moved:
        await desk.bring(statements.write(Entry("M", -moved, DAY + timedelta(days=2), "Fee")), NEEMA)
    await statements.match()
    await do_as_shown(statements, file)
    assert len(await desk.waiting()) == waits
