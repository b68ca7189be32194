"""What the program in an archive finds in a copy that was changed, though the list of hashes has the new ones."""

import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from malipo import ids
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.invoices import issue_invoices
from malipo.invoices.invoice import Party
from malipo.ledger.accounts import Account, Move, Step
from malipo.ledger.bookings import BookingKind, book
from malipo.month_end import check_archive
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import settlements
from tests.bank.bank_desk import BankDesk, open_account
from tests.conftest import make_merchant
from tests.month_end.test_archive import FIRST, LAST, NO_STATEMENT, NOW, SECOND, _close
from tests.month_end.test_archive import _month as month
from tests.reconciliation.close.books import ASHA, Books, at
from tests.settlement.settlement_steps import add_account

Members = dict[str, bytes]
Rows = list[list[str]]
_CAME_BACK = (
    *((Step.OPEN, [Move(Account.WALLET, Account.IN_SETTLEMENT, 1_000)]),),
    *((Step.END, [Move(Account.IN_SETTLEMENT, Account.BANK, 1_000)]),),
    (
        Step.RETURN,
        [Move(Account.BANK, Account.IN_SETTLEMENT, 1_000), Move(Account.IN_SETTLEMENT, Account.WALLET, 1_000)],
    ),
)


@pytest.fixture
async def members(service: Service, database: Database, database_url: str, tmp_path: Path) -> Members:
    """The files of a month: payments of three merchants, a settlement that came back, two statements of the bank."""
    books = await Books.begin(database, tmp_path)
    books.fee = 10
    async with database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, books.merchant_id, 250_000, reference="FT-1", now=at(FIRST))
    await books.paid("R1", 5_000, at(FIRST))
    await books.paid_out("R2", 20_000, at(FIRST, "13:00"))
    await _came_back(books)
    await books.match("R1", "R2")
    lines = [("R1", 5_000, "12:00:00", "money"), ("R2", -20_000, "13:00:00", "money")]
    await books.statement(FIRST, lines, opening=100_000)
    await _close(books, FIRST, accepts_difference=True, reason="the float before is not known")
    for receipt in ("R4", "R5"):
        books.merchant_id = (await make_merchant(database)).id
        await books.paid(receipt, 4_000, at(SECOND, "15:00"))
    await books.close(SECOND, now=NOW, **NO_STATEMENT)
    await books.close(LAST, now=NOW)
    merchant = await make_merchant(database)
    account = await add_account(database, merchant.id, now=NOW)
    await open_account(database)
    desk = BankDesk(service, database, merchant, account, tmp_path, at=NOW)
    desk.move(250_000, "FT-1", day=FIRST)
    desk.move(-7_000, "FT-2", day=LAST)
    await desk.bring(FIRST, SECOND)
    await desk.bring(LAST, format_="mt940")
    async with database.begin() as tx:
        seller = Party(name="Malipo Ltd")
        assert len(await issue_invoices.issue(tx, date(2026, 11, 1), seller=seller, actor=ASHA, now=NOW)) == 3
    file = tmp_path / "november.zip"
    assert (await month(database_url, "2026-11", "--archive", str(file))).err == ""
    with zipfile.ZipFile(file) as opened:
        return {each: opened.read(each) for each in opened.namelist()}


async def _came_back(books: Books) -> None:
    when, id_ = at(FIRST, "14:00"), ids.mint("stl_", at(FIRST))
    settlement = Settlement(
        merchant_id=books.merchant_id,
        id=id_,
        key="KEY1",
        reference="MLS-1",
        status=SettlementStatus.REQUESTED,
        amount=1_000,
        fee=0,
        bank_account_id=None,
        created_at=when,
        created_by="operator asha",
    )
    async with books.database.begin() as tx:
        assert await settlements.insert(tx, settlement, idempotency_key=None, request_hash=b"")
        await tx.execute(
            """
            UPDATE settlements SET status = 'RETURNED', sent_at = $2, completed_at = $2, booked_on = $3,
                   bank_reference = 'FT9', returned_at = $2, return_reason = 'AC04', return_booked_on = $3,
                   return_bank_reference = 'FT10'
            WHERE id = $1
            """,
            *(id_, when, FIRST),
        )
    for number, (step, moves) in enumerate(_CAME_BACK):
        await books.post(id_, step, moves, when + timedelta(minutes=number))


def _in(name: str, change: Callable[[Rows], object]) -> Callable[[Members], None]:
    """A change of the rows of a file, below its header."""

    def apply(members: Members) -> None:
        header, *rows = csv.reader(io.StringIO(members[name].decode()))
        changed = change(rows)
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows([header, *(changed if isinstance(changed, list) else rows)])
        members[name] = out.getvalue().encode()

    return apply


def _text(name: str, old: str, new: str) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        assert old.encode() in members[name], members[name]
        members[name] = members[name].replace(old.encode(), new.encode())

    return apply


def _in_file(index: str, number: int, old: str, new: str) -> Callable[[Members], None]:
    """A change of a statement, with its hash in the list of statements."""

    def apply(members: Members) -> None:
        row = list(csv.DictReader(io.StringIO(members[index].decode())))[number]
        _text(row["file"], old, new)(members)
        _text(index, row["sha256"], hashlib.sha256(members[row["file"]]).hexdigest())(members)

    return apply


def _to_another_merchant(members: Members) -> None:
    """R5's collection becomes that of R4's merchant: in the three journals and in the trial balance."""
    journal = list(csv.DictReader(io.StringIO(members["journal/journal.csv"].decode())))
    old, new = (
        next(row["of"] for row in journal if row["receipt"] == each and row["of"][:4] == "mer_") for each in _TWO
    )
    for name in members:
        if name.startswith("journal/journal."):
            for a, b in ((old, new), (old.capitalize().replace("_", "-"), new.capitalize().replace("_", "-"))):
                members[name] = members[name].replace(a.encode(), b.encode())

    def into_one(rows: Rows) -> Rows:
        kept = [row for row in rows if row[3] != old]
        for row in kept:
            if row[3] == new:
                row[8], row[9] = str(2 * int(row[8])), str(2 * int(row[9]))
        return kept

    _in("trial-balance.csv", into_one)(members)


_TWO = ("R5", "R4")


def _a_shilling_between_invoices(rows: Rows) -> None:
    for row, change in zip(rows, (1, -1), strict=False):
        for column in (10, 12):
            row[column] = str(int(row[column]) + change)


def _a_number_skipped(members: Members) -> None:
    _text("invoices.csv", "-000003", "-000009")(members)
    members["invoices/A-2026-000009.pdf"] = members.pop("invoices/A-2026-000003.pdf")


def _set(column: int, old: str, new: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        row = next(row for row in rows if row[column] == old)
        row[column] = new

    return change


# Columns of settlements.csv: status 5, returnedAt 15. Of payments.csv: amount 6, status 9.
CHANGES: dict[str, tuple[Callable[[Members], None], str]] = {
    "a payment removed": (_in("payments.csv", lambda rows: rows[1:]), r"has collection of txn_.*payments.csv does not"),
    "a payment doubled": (_in("payments.csv", lambda rows: [*rows, rows[0]]), r"payments.csv has .* twice"),
    "another amount": (_in("payments.csv", _set(6, "20000", "20001")), r"other amounts of txn_.* than payments.csv"),
    "another status": (
        _in("payments.csv", _set(9, "COMPLETED", "FAILED")),
        r"is FAILED, and the journal has collection",
    ),
    "a collection moved": (_to_another_merchant, r"has txn_.* with another merchant than payments.csv"),
    "a shilling moved": (_in("invoices.csv", _a_shilling_between_invoices), r"less credit notes of mer_.* are 11, and"),
    "a number skipped": (_a_number_skipped, r"the series A-2026 the numbers from 000003 to 000008 are not here"),
    "a document removed": (_in("invoices.csv", lambda rows: rows[1:]), r"invoices/A-2026-00000\d.pdf is not in"),
    "a settlement doubled": (_in("settlements.csv", lambda rows: [*rows, rows[0]]), r"settlements.csv has MLS-1 twice"),
    "a settlement removed": (_in("settlements.csv", lambda rows: rows[1:]), r"has settlement_paid of stl_"),
    "a return hidden": (_in("settlements.csv", _set(5, "RETURNED", "COMPLETED")), r"COMPLETED, and has returnedAt"),
    "a return hidden with its time": (
        _in(
            "settlements.csv", lambda rows: [[*rows[0][:5], "COMPLETED", *rows[0][6:15], "", "", "", "", *rows[0][19:]]]
        ),
        r"MLS-1 is COMPLETED, and the journal has settlement_given_back",
    ),
    "an amount of a network": (
        _in_file("statements/networks.csv", 0, "-20000", "-19000"),
        r"statements/MPESA/.* does not lead from its opening",
    ),
    "an amount of the bank in XML": (
        _in_file("bank/statements.csv", 0, '<Ntry><NtryRef>1</NtryRef><Amt Ccy="TZS">250000', "<Ntry><Amt>260000"),
        r"bank/.* does not lead from its opening",
    ),
    "an amount of the bank in MT940": (
        _in_file("bank/statements.csv", 1, "D7000,", "D8000,"),
        r"bank/.* does not lead from its opening",
    ),
    "a list without its statement": (
        _in("statements/networks.csv", lambda rows: rows[1:]),
        r"statements/MPESA/.* is in no list of statements",
    ),
    "a list of the bank without its statement": (
        _in("bank/statements.csv", lambda rows: rows[1:]),
        r"bank/.* is in no list of statements",
    ),
    "a row that cannot be read": (
        _text("settlements.csv", "RETURNED,1000", "RETURNED,x"),
        r"settlements.csv cannot be read",
    ),
}


def _found(members: Members, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the program says is wrong, but for the signature of the list."""
    listed = [line.partition("  ")[2] for line in members["MANIFEST.sha256"].decode().splitlines()]
    names = [each for each in listed if each in members] + sorted(members.keys() - set(listed) - {_LIST, _SIGNATURE})
    lines = [f"{hashlib.sha256(members[each]).hexdigest()}  {each}\n" for each in names]
    with zipfile.ZipFile(folder / "changed.zip", "w") as target:
        for name, content in (members | {_LIST: "".join(lines).encode()}).items():
            target.writestr(name, content)
    check_archive.main([str(folder / "changed.zip")])
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    return [each for each in said if not each.endswith("is not signed by the key of the closed days")]


async def test_each_column_of_each_table_is_explained(members: Members) -> None:
    parts = re.split(r"^## (.*)$", members["COLUMNS.md"].decode(), flags=re.MULTILINE)
    explained = dict(zip(parts[1::2], parts[2::2], strict=True))
    tables = {name for name in members if name.endswith(".csv") and not name.startswith(_OTHER_TABLES)}
    assert tables == explained.keys()
    for name in tables:
        [header, *_] = csv.reader(io.StringIO(members[name].decode()))
        columns = [
            each for row in re.findall(r"^\| (`.*?) \|", explained[name], re.MULTILINE) for each in row.split(", ")
        ]
        assert [f"`{each}`" for each in header if f"`{each}`" not in columns] == [], name


_OTHER_TABLES = ("closes/", "statements/MPESA/", "journal/vouchers")  # They are explained elsewhere, or came so.
_LIST, _SIGNATURE = "MANIFEST.sha256", "MANIFEST.sig"


async def test_what_somebody_with_the_key_has_changed_is_found(
    members: Members, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _found(dict(members), tmp_path, capsys) == []
    for name, (change, finding) in CHANGES.items():
        changed = dict(members)
        change(changed)
        found = _found(changed, tmp_path, capsys)
        assert any(re.search(finding, each) for each in found), (name, found)
