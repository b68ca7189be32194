"""A file is one statement of one account: whatever its precision, its bytes, and the account that it is given to."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo import clock
from malipo.cli.hints import say_with_hint
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.imports.import_statement import DoesNotAddUp, ImportResult
from malipo.reconciliation.imports.refuse_conflicting_file import Disagrees, ImportedElsewhere, NothingKnown
from malipo.words.say import say
from tests.payments.payment_steps import steps
from tests.reconciliation.statement_days import OPENING, Entry, Statements, fee_of, line_of, reversal_of, statements

__all__ = ["statements", "steps"]

NOW = clock.now()
DAY = (NOW - timedelta(days=3)).replace(hour=6, minute=31, second=15, microsecond=0)
A_DAY: dict[str, Any] = {"begins": DAY - timedelta(hours=6), "ends": DAY + timedelta(hours=18)}


def entries(count: int = 6) -> list[Entry]:
    """Payments of customers and their fees, some of them in the same minute."""
    made = [Entry(f"QK{place}", 1000 + place, DAY + timedelta(seconds=25 * place)) for place in range(count)]
    return [each for entry in made for each in (entry, fee_of(entry, 7))]


def without_seconds(path: Path) -> Path:
    """The same statement, as a layout without seconds has it."""
    heading, header, lines = path.read_text().partition("receipt,time")
    cut = [line.replace(line.split(",")[1], line.split(",")[1][:-3]) for line in lines.splitlines()[1:]]
    other = path.with_name(f"minutes-{path.name}")
    other.write_text("\n".join([f"{heading}{header}{lines.splitlines()[0]}", *cut]) + "\n")
    return other


@pytest.mark.parametrize("is_precise_first", [True, False])
async def test_a_statement_without_seconds_has_the_same_lines(statements: Statements, is_precise_first: bool) -> None:
    """Seen: 92 of 92 lines new, and their fees booked again."""
    precise = statements.write(*entries(), **A_DAY)
    files = [precise, without_seconds(precise)][:: 1 if is_precise_first else -1]
    first = await statements.load(files[0])
    await statements.match()
    fees = (await statements.steps.balances())["network_fees"]
    again = await statements.load(files[1])
    await statements.match()
    assert (first.file.new_count, again.file.line_count, again.file.new_count) == (12, 12, 0)
    assert (await statements.steps.balances())["network_fees"] == fees == -42
    await statements.check_ledger()


@pytest.mark.parametrize("ends_after", [1, 12, 59])
@pytest.mark.parametrize("is_precise_first", [True, False])
async def test_files_that_meet_within_a_minute_share_its_lines(
    statements: Statements, is_precise_first: bool, ends_after: int
) -> None:
    """Seed 200031: a file of the day so far, to 08:00:12, and one without seconds and heading, from 08:00 on."""
    minute = DAY.replace(second=0)
    lines = [Entry(f"QK{place}", 1000 + place, minute + timedelta(seconds=place % 2)) for place in range(3)]
    lines = [each for entry in lines for each in (entry, fee_of(entry, 7))]
    later = Entry("QK9", 400, minute + timedelta(minutes=1, seconds=5))
    so_far = statements.write(*lines, begins=A_DAY["begins"], ends=minute + timedelta(seconds=ends_after))
    whole = without_seconds(statements.write(*lines, later, begins=minute, ends=minute + timedelta(minutes=2)))
    text = whole.read_text()
    whole.write_text("\n".join(line for line in text.splitlines() if not line.startswith(("to", "from"))))
    files = [so_far, whole] if is_precise_first else [whole, so_far]
    counts = [(await statements.load(path)).file.new_count for path in files]
    assert counts == ([6, 1] if is_precise_first else [7, 0])


@pytest.mark.parametrize("is_precise_first", [True, False])
async def test_a_file_whose_last_line_is_in_the_minute_where_the_next_begins_shares_it(
    statements: Statements, is_precise_first: bool
) -> None:
    minute = DAY.replace(second=0)
    first, last = Entry("QK1", 500, minute - timedelta(minutes=9)), Entry("QK2", 600, minute + timedelta(seconds=5))
    early = without_seconds(statements.write(first, last, begins=DAY - timedelta(hours=1), ends=minute))
    text = early.read_text()
    early.write_text("\n".join(line for line in text.splitlines() if not line.startswith(("to", "from"))))
    late = statements.write(last, begins=minute, ends=minute + timedelta(hours=1), opening=OPENING + 500)
    files = [late, early] if is_precise_first else [early, late]
    # In the other order the second one opens with less than the first closes with, which is reported.
    counts = [(await statements.load(path, accepts_problems=True)).file.new_count for path in files]
    assert counts == ([1, 1] if is_precise_first else [2, 0])


@pytest.mark.parametrize("seconds", [1, 59, 3600, 86_400])
async def test_a_line_is_the_same_line_within_a_day(statements: Statements, seconds: int) -> None:
    """As a network's API and its files say it: seconds apart, in another zone, or over midnight."""
    one = [Entry("QK1", 500, DAY), Entry("QK1", 500, DAY), Entry("QK2", -70, DAY)]
    moved = [Entry(each.receipt, each.amount, each.at + timedelta(seconds=seconds)) for each in one]
    for number, (lines, new) in enumerate(((one, 3), (moved, 0), (moved[:1], 0))):
        path = statements.write(*lines, name=f"{number}.csv")
        text = path.read_text()
        path.write_text("\n".join(line.rsplit(",", 5)[0] for line in text[text.index("receipt") :].splitlines()))
        assert (await statements.load(path)).file.new_count == new


async def test_a_line_that_two_layouts_call_differently_is_one_line(statements: Statements) -> None:
    paid, fee = Entry("QK1", -500, DAY), Entry("QK1", -500, DAY, "Transaction fee")
    await statements.load(statements.write(paid, fee, **A_DAY))
    other = statements.write(paid, Entry("QK1", -500, DAY, "Something"), **A_DAY)
    assert (await statements.load(other)).file.new_count == 0


async def test_a_file_is_imported_into_one_account_also_if_two_do_it_at_once(statements: Statements) -> None:
    path = statements.write(*entries(400), **A_DAY)
    done = await asyncio.gather(
        *(statements.load(path, account=name) for name in ("till 1", "till 2", "till 3")), return_exceptions=True
    )
    [file] = [each.file for each in done if isinstance(each, ImportResult)]
    refused = [each for each in done if isinstance(each, ImportedElsewhere)]
    assert len(refused) == 2
    assert f"account {file.account}." in say(refused[0])
    assert say_with_hint(refused[0]).endswith(f"malipo statements withdraw {file.id}")
    # The same lines in other bytes are refused too, unless hardly any of them is known there.
    with pytest.raises(ImportedElsewhere, match="statement_most_lines"):
        await statements.load(without_seconds(path), account="till 9")
    assert (await statements.load(path, account=f" {file.account.upper()}")).is_repeat
    statements.channel = Channel.TIGO_PESA
    with pytest.raises(ImportedElsewhere):
        await statements.load(path)


@pytest.mark.parametrize("receipt", ["QK{}", "RK21ABC00{}"])
async def test_a_file_of_which_a_day_is_another_accounts_is_refused(statements: Statements, receipt: str) -> None:
    """A day was imported. The file of the week is then given to another account: the day's fees would be booked again."""
    week: dict[str, Any] = {"begins": DAY - timedelta(days=2), "ends": DAY + timedelta(days=3)}
    paid = [Entry(receipt.format(place), 1000 + place, week["begins"] + timedelta(days=place)) for place in range(5)]
    days = [[each, fee_of(each, 7)] for each in paid]
    one = await statements.load(statements.write(*days[2], begins=paid[2].at, ends=paid[3].at))
    await statements.match()
    path = statements.write(*(each for day in days for each in day), **week, name="week.csv")
    with pytest.raises(ImportedElsewhere, match=one.file.id):
        await statements.load(path, account="till 2")
    await statements.match()
    assert (await statements.steps.balances())["network_fees"] == -7


async def test_one_line_of_another_account_is_enough_to_refuse_a_file(statements: Statements) -> None:
    """The other account's file has more lines of that time, so it is not the same file."""
    shared, others = Entry("RK21ABC001", -50, DAY, "Transaction fee"), entries(9)
    await statements.load(statements.write(shared, **A_DAY), account="till 1")
    with pytest.raises(ImportedElsewhere, match="till 1"):
        await statements.load(statements.write(*others, shared, **A_DAY), account="till 2")
    await statements.load(statements.write(*others, **A_DAY), account="till 2")


async def test_a_transfer_between_two_accounts_has_its_receipt_in_both(statements: Statements) -> None:
    for account, amount in (("till 1", -5_000), ("till 2", 5_000)):
        path = statements.write(Entry("RK21ABC001", amount, DAY, "Sweep"), **A_DAY)
        assert (await statements.load(path, account=account)).file.new_count == 1
    await statements.match()
    assert await statements.float_change() == 0


async def test_two_accounts_of_a_network_import_a_line_at_once_and_one_is_refused(statements: Statements) -> None:
    line = Entry("RK21ABC001", -50, DAY, "Transaction fee")
    files = {f"till {place}": statements.write(line, opening=place, **A_DAY) for place in range(1, 4)}
    done = await asyncio.gather(
        *(statements.load(path, account=name) for name, path in files.items()), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in done) == ["ImportResult", "ImportedElsewhere", "ImportedElsewhere"]


async def test_a_day_without_lines_may_look_like_another_accounts(statements: Statements) -> None:
    path = statements.write(opening=0, **A_DAY)
    assert [(await statements.load(path, account=name)).is_repeat for name in ("a", "b", "b")] == [False, False, True]


async def test_a_file_that_contradicts_another_of_the_account_is_refused(statements: Statements) -> None:
    lines = entries()
    first = (await statements.load(statements.write(*lines, **A_DAY, name="first.csv"))).file
    wrong = {
        "one line more": ([*lines[:6], Entry("QKX", 300, DAY + timedelta(seconds=80)), *lines[6:]], OPENING),
        "one line less": (lines[:6] + lines[8:], OPENING),
        "another amount": ([*lines[:-2], Entry("QK5", 1006, DAY + timedelta(seconds=125)), lines[-1]], OPENING),
        "another opening": (lines, OPENING + 5),
    }
    for what, (corrected, opening) in wrong.items():
        with pytest.raises(Disagrees, match=first.id) as refused:
            await statements.load(statements.write(*corrected, opening=opening, **A_DAY), accepts_problems=True)
        assert refused.value.problems, what
    # A part of it that says the same is welcome, and so is a file of an unfinished day that grows.
    part = statements.write(*lines[4:8], opening=OPENING + 1000 + 1001 - 14, **A_DAY | {"begins": lines[4].at})
    text = part.read_text().replace(f"{A_DAY['ends'].astimezone(clock.ZONE):%Y-%m-%d %H:%M:%S}", "")
    part.write_text("\n".join(line for line in text.splitlines() if not line.startswith(("to", "from"))))
    assert (await statements.load(part)).file.new_count == 0
    today: dict[str, Any] = {"begins": NOW - timedelta(hours=3), "ends": NOW + timedelta(hours=9)}
    grown = [Entry(f"T{place}", 10, NOW - timedelta(minutes=100 - 10 * place)) for place in range(9)]
    for count, new in ((3, 3), (9, 6)):
        done = await statements.load(statements.write(*grown[:count], opening=70, **today))
        assert done.file.new_count == new


@pytest.mark.parametrize("is_late_first", [False, True])
async def test_two_files_that_overlap_without_a_common_line_agree_in_the_balance(
    statements: Statements, is_late_first: bool
) -> None:
    day = (clock.now() - timedelta(days=5)).replace(hour=0, minute=0, second=0, microsecond=0)
    noon = day + timedelta(hours=12)
    line, other = Entry("QK1", 100, day + timedelta(hours=2)), Entry("QK2", 50, day + timedelta(hours=30))
    early = statements.write(line, opening=5_000, begins=day, ends=day + timedelta(hours=24), name="early.csv")
    late = {
        opening: statements.write(
            other, opening=opening, begins=noon, ends=noon + timedelta(days=1), name=f"{opening}.csv"
        )
        for opening in (9_000, 5_100)
    }
    await statements.load(late[9_000] if is_late_first else early)
    with pytest.raises(Disagrees) as refused:
        await statements.load(early if is_late_first else late[9_000])
    [problem] = refused.value.problems
    assert say(problem) == "9000.csv opens with 9,000; early.csv has 5,100 at that moment."
    if not is_late_first:
        await statements.load(late[5_100])


@pytest.mark.parametrize("is_late_first", [False, True])
async def test_a_file_closes_with_what_the_next_one_opens_with_whichever_comes_first(
    statements: Statements, is_late_first: bool
) -> None:
    day = (clock.now() - timedelta(days=5)).replace(hour=0, minute=0, second=0, microsecond=0)
    nights = [day, day + timedelta(days=1), day + timedelta(days=2)]
    early, late = Entry("QK1", 100, day + timedelta(hours=2)), Entry("QK2", 50, day + timedelta(hours=30))
    one = statements.write(early, opening=5_000, begins=nights[0], ends=nights[1], name="one.csv")
    two = statements.write(late, opening=9_000, begins=nights[1], ends=nights[2], name="two.csv")
    first, second = (two, one) if is_late_first else (one, two)
    await statements.load(first)
    with pytest.raises(DoesNotAddUp) as refused:
        await statements.load(second)
    assert "3,900 differ" in say(refused.value.problems[0])
    accepted = await statements.load(second, accepts_problems=True)
    assert not accepted.file.is_whole


async def test_a_file_of_which_nothing_is_known_is_doubted_before_anything_is_booked(statements: Statements) -> None:
    """Seen: Tigo's file under M-Pesa, 0 matched, its fees booked, a float of -1,041,977, and "adds up: yes"."""
    path = statements.write(*entries(), opening=-1_041_977, **A_DAY)
    with pytest.raises(NothingKnown) as refused:
        await statements.load(path, is_new_account=False)
    assert "MPESA" in say(refused.value.problems[0])
    async with statements.database.read() as connection:
        for table in ("statement_files", "statement_lines", "float_readings", "house_bookings"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
    await statements.load(path, is_new_account=True)


async def test_a_file_is_known_by_a_payment_a_line_or_a_balance(statements: Statements) -> None:
    payment = await statements.completed(Type.COLLECTION, 900)
    strange = Entry("X1", 5, clock.now())
    for name, line in (("receipt", line_of(payment, key="")), ("key", line_of(payment, "R9"))):
        path = statements.write(strange, line, name=f"{name}.csv", opening=7)
        assert not (await statements.load(path, is_new_account=False, account=name)).is_repeat
    # A quiet day with one line of nobody: it continues the day before, or has a line of it.
    await statements.load(statements.write(*entries(), **A_DAY), is_new_account=True)
    closing = OPENING + sum(each.amount for each in entries())
    next_day = {name: moment + timedelta(days=1) for name, moment in A_DAY.items()}
    quiet = statements.write(Entry("X2", 5, DAY + timedelta(days=1)), opening=closing, **next_day)
    assert (await statements.load(quiet, is_new_account=False)).file.new_count == 1
    other = statements.write(Entry("X3", 5, DAY + timedelta(days=9)), begins=NOW, ends=NOW, opening=closing + 99)
    with pytest.raises(NothingKnown):
        await statements.load(other, is_new_account=False)


async def test_a_later_file_that_says_more_of_a_line_is_believed(statements: Statements) -> None:
    """A reversal that was fetched says less than the portal's: which payment it takes back."""
    payment = await statements.completed(Type.COLLECTION, 900)
    unknown = await statements.steps.processing(Type.COLLECTION, 700)
    paid, keyed = line_of(payment), line_of(unknown, "QKU")
    poor = [
        paid,
        reversal_of(paid, linked="", details="Payment", phone="2557*****1"),
        line_of(unknown, "QKU", key="", phone=""),
    ]
    await statements.take(*poor)
    assert [kind for kind, _ in await statements.kinds()] == ["theirs_only", "theirs_only"]
    rich = [paid, reversal_of(paid, phone="255754000001"), keyed]
    path = statements.write(*rich, name="rich.csv")
    assert (await statements.load(path)).file.new_count == 0
    await statements.match()
    assert [kind for kind, _ in await statements.kinds()] == ["state_differs"]
    assert await statements.status(unknown) is Status.COMPLETED
    async with statements.database.read() as connection:
        row = await connection.fetchrow(
            "SELECT kind, linked, phone FROM statement_lines WHERE receipt = $1", reversal_of(paid).receipt
        )
    assert row is not None
    assert tuple(row) == ("reversal", paid.receipt, "255754000001")
