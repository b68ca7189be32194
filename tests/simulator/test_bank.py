"""The simulated bank: what it takes and refuses, books and returns. malipo and other people's libraries read its
statements, and all must see its book."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import aiohttp
import mt940 as library
import pytest
from pyiso20022.camt.camt_053_001_08 import Document  # type: ignore[import-untyped]
from xsdata.formats.dataclass.parsers import XmlParser

from malipo.bank_formats import pain001, payout_csv
from malipo.bank_formats.bank_entry import BankStatement, problems_of
from malipo.bank_formats.transfer_order import FileOrder, TransferOrder
from malipo_simulator.bank.bank import STARTING_BALANCE, Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.bank_formats.statement_file import camt_of, mt940_of
from tests.simulator.processes import Sim

MONDAY, TUESDAY, THURSDAY = date(2026, 11, 16), date(2026, 11, 17), date(2026, 11, 19)
KEYS = ["0123456789ABCDEF", "1123456789ABCDEF", "2123456789ABCDEF"]
MESSAGE = "MKDMGZ0AAAAAAAAA"


def file_of(*, message_id: str = MESSAGE, as_table: bool = False, pays_on: date = MONDAY) -> bytes:
    transfers = tuple(
        TransferOrder(
            key=key, amount=10_000 * (number + 1), name=f"Duka {number}", bic="CORUTZTZ", account=f"A{number}", text="x"
        )
        for number, key in enumerate(KEYS)
    )
    order = FileOrder(
        message_id=message_id,
        created_at=datetime(2026, 11, 16, 8, 0, tzinfo=UTC),
        pays_on=pays_on,
        payer_name="MALIPO LTD",
        payer_bic="NMIBTZTZ",
        payer_account="22010012345",
        transfers=transfers,
    )
    return payout_csv.write(order, payout_csv.decode(payout_csv.generic())) if as_table else pain001.write(order)


@pytest.mark.parametrize("as_table", [False, True])
def test_a_file_is_booked_line_by_line(as_table: bool) -> None:
    bank = Bank()
    taken = bank.take(file_of(as_table=as_table), MONDAY)
    assert (taken.status, taken.message_id, taken.booked_on) == ("ACCP", MESSAGE, MONDAY)
    assert [(each.end_to_end, each.cents) for each in bank.entries] == [
        (KEYS[0], -1_000_000),
        (KEYS[1], -2_000_000),
        (KEYS[2], -3_000_000),
    ]


def test_a_file_of_a_sunday_is_booked_on_monday() -> None:
    bank = Bank()
    assert bank.take(file_of(pays_on=date(2026, 11, 15)), date(2026, 11, 14)).booked_on == MONDAY


def test_a_file_that_is_handed_in_twice_is_paid_twice() -> None:
    bank = Bank()
    assert [bank.take(file_of(), MONDAY).status for _ in range(2)] == ["ACCP", "ACCP"]
    assert sum(each.cents for each in bank.entries) == -12_000_000


def test_a_file_can_be_refused_whole_or_line_by_line() -> None:
    bank = Bank()
    bank.change({"refuseFiles": "AM04 insufficient funds"})
    assert bank.take(file_of(), MONDAY).status == "RJCT"
    assert bank.entries == []
    bank.change({"refuseFiles": "", "refuseAccounts": {"A1": "AC01 no such account"}})
    taken = bank.take(file_of(), MONDAY)
    assert (taken.status, taken.refused) == ("PART", {KEYS[1]: "AC01 no such account"})
    assert [each.end_to_end for each in bank.entries] == [KEYS[0], KEYS[2]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"<NbOfTxs>3", b"<NbOfTxs>4"),
        (b"<CtrlSum>60000", b"<CtrlSum>60001"),
        (b'Ccy="TZS"', b'Ccy="USD"'),
        (b"Duka 1", b"Duka &amp; 1"),
        (b"22010012345", b"99"),
        (b"CORUTZTZ", b"CRDB"),
        (b">20000<", b">20000.50<"),
        (b"</Document>", b""),
    ],
)
def test_it_refuses_what_banks_refuse(before: bytes, after: bytes) -> None:
    assert before in file_of()
    assert Bank().take(file_of().replace(before, after), MONDAY).status == "RJCT"


def test_money_comes_back_days_later() -> None:
    bank = Bank()
    bank.change({"returnAccounts": {"A2": 3}})
    bank.take(file_of(), MONDAY)
    back = bank.entries[-1]
    assert (back.day, back.cents, back.end_to_end, back.reason) == (
        THURSDAY,
        3_000_000,
        KEYS[2],
        "AC04 ACCOUNT CLOSED",
    )


def test_a_switch_that_it_does_not_have_is_refused() -> None:
    bank = Bank()
    with pytest.raises(ValueError, match="refuse"):
        bank.change({"refuseFile": "x"})


def test_its_book_survives_a_restart(tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    bank.change({"booksOneSum": True})
    bank.take(file_of(), MONDAY)
    again = Bank(tmp_path)
    assert (again.entries, again.switches, again.files) == (bank.entries, bank.switches, bank.files)


def busy_bank(*, one_sum: bool) -> Bank:
    bank = Bank()
    bank.change({"booksOneSum": one_sum, "returnAccounts": {"A0": 1}, "chargeCents": 59_050})
    bank.deposit(77_000_000, MONDAY, "DEP1", "TOP UP")
    bank.take(file_of(), MONDAY)
    bank.take(file_of(message_id="NKDMGZ0AAAAAAAAA"), TUESDAY)
    return bank


def seen_of(statement: BankStatement) -> list[tuple[date, int, str]]:
    """Day, cents and reference of each entry: parts of a sum together."""
    found: dict[int, tuple[date, int, str]] = {}
    for each in statement.entries:
        _, cents, _ = found.get(each.row, (each.booked_on, 0, ""))
        found[each.row] = (each.booked_on, cents + each.cents, each.reference)
    return list(found.values())


@pytest.mark.parametrize("one_sum", [False, True])
def test_we_and_public_libraries_read_its_book_from_its_statements(tmp_path: Path, one_sum: bool) -> None:
    bank = busy_bank(one_sum=one_sum)
    book = [(each.day, each.cents, each.reference) for each in bank.entries if each.day <= TUESDAY]
    closing = bank.balance_cents(TUESDAY)
    camt, mt940 = (FORMATS[name][1](bank, MONDAY, TUESDAY) for name in ("camt053", "mt940"))

    for [statement] in (camt_of(tmp_path, camt), mt940_of(tmp_path, mt940.decode())):
        assert seen_of(statement) == book
        assert (statement.opening, statement.closing) == (STARTING_BALANCE * 100, closing)
        assert problems_of(statement) == []

    [theirs] = XmlParser().from_bytes(camt, Document).bk_to_cstmr_stmt.stmt
    signs = {"CRDT": 1, "DBIT": -1}
    found = [each.amt.value * 100 * signs[each.cdt_dbt_ind.value] for each in theirs.ntry]
    assert found == [Decimal(cents) for _, cents, _ in book]

    theirs = library.parse(mt940.decode())
    assert [abs(each.data["amount"].amount) * 100 for each in theirs.transactions] == [
        abs(cents) for _, cents, _ in book
    ]
    assert theirs.data["final_closing_balance"].amount.amount * 100 == closing


async def test_scripts_hand_in_files_and_fetch_statements(sim: Sim, http: aiohttp.ClientSession) -> None:
    async with http.post(f"{sim.url}/api/bank/files?day=2026-11-16", data=file_of()) as answer:
        assert (await answer.json())["status"] == "ACCP"
    async with http.patch(f"{sim.url}/api/bank/control", json={"nonsense": 1}) as answer:
        assert answer.status == 400
    for name, beginning in (("camt053", b"<?xml"), ("mt940", b":20:"), ("csv", b"Account Number"), ("xlsx", b"PK")):
        url = f"{sim.url}/api/bank/statement?from=2026-11-16&to=2026-11-17&format={name}"
        async with http.get(url) as answer:
            assert (await answer.read()).startswith(beginning)
    async with http.get(f"{sim.url}/api/bank/book") as answer:
        assert len((await answer.json())["entries"]) == 3
