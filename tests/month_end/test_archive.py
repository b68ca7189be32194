"""The archive of a month, and what checks it: the program that is in it, sha256sum, OpenSSL, beancount and hledger."""

import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.books.entry import Entry
from malipo.books.read_journal import Period, read_journal
from malipo.db import Database
from malipo.invoices import change_invoice_data, issue_invoices
from malipo.invoices.invoice import Party
from malipo.invoices.store import invoices
from malipo.invoices.tax import TaxRate
from malipo.ledger.accounts import Account, Move, Step
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.month_end import check_archive
from malipo.settlement import bank_outcomes
from malipo.settlement.bank_outcomes import BankReturn
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import settlements
from tests.books.outside_programs import bean_check, hledger, hledger_balances
from tests.conftest import SECRET_KEY, make_merchant
from tests.journeys.operator_commands import Said, malipo
from tests.reconciliation.close.books import ASHA, Books, at

FIRST, SECOND, LAST = (date(2026, 11, day) for day in (28, 29, 30))
NEXT = date(2026, 12, 1)
NOW = datetime(2026, 12, 2, 9, tzinfo=UTC)
NO_STATEMENT = {"without": ["MPESA"], "reason": "portal away"}


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """Two merchants; the days from the 28th are closed, the first ever, and December has begun."""
    books = await Books.begin(database, tmp_path)
    books.fee = 10
    first = books.merchant_id
    async with database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, first, 250_000, reference="FT-1", now=at(FIRST - timedelta(days=3)))
    await books.paid("EARLY", 3_000, at(FIRST - timedelta(days=2)))
    await books.paid("R1", 5_000, at(FIRST))
    await books.paid_out("R2", 20_000, at(FIRST, "13:00"))
    await books.match("R1", "R2")
    await books.statement(
        FIRST,
        [("R1", 5_000, "12:00:00", "money"), ("R2", -20_000, "13:00:00", "money"), ("F2", -150, "13:00:00", "fee")],
        opening=100_000,
    )
    await books.book(HouseBookingKind.NETWORK_FEE, -150, FIRST)
    await _close(books, FIRST, accepts_difference=True, reason="the float before is not known")
    books.merchant_id = (await make_merchant(database)).id
    await books.paid("R4", 4_000, at(SECOND, "15:00"))
    await books.book(HouseBookingKind.SWEEP, 40, SECOND, evidence="The other till")
    await books.close(SECOND, now=NOW, **NO_STATEMENT)
    await books.paid("LATE", 1_500, at(SECOND, "23:59"))
    await books.contradicted("R4", -4_000, at(LAST))
    await books.post(
        books.payments["R4"],
        Step.RESOLUTION,
        [Move(Account.WALLET, Account.SUSPENSE, 3_000), Move(Account.LOSSES, Account.SUSPENSE, 1_000)],
        at(LAST, "13:00"),
    )
    await books.close(LAST, now=NOW, **NO_STATEMENT)
    await books.paid("DEC", 700, at(NEXT))
    return books


async def _close(books: Books, day: date, **how: Any) -> None:
    """By two, if it does not add up."""
    await books.try_to_close(day, now=NOW, **how)
    await books.approve(day, now=NOW)


async def _month(database_url: str, *arguments: str) -> Said:
    return await malipo("books", "month", *arguments, database_url=database_url, secret_key=SECRET_KEY)


@pytest.fixture
async def archive(books: Books, database_url: str, tmp_path: Path) -> Path:
    file = tmp_path / "november.zip"
    said = await _month(database_url, "2026-11", "--archive", str(file))
    assert said.err == ""
    return file


def _check(archive: Path, *arguments: str) -> tuple[int, str]:
    """As an auditor runs it: the program of the archive, alone, without malipo in the path."""
    program = archive.with_name("check_archive.py")
    with zipfile.ZipFile(archive) as opened:
        program.write_bytes(opened.read("check_archive.py"))
    command = [sys.executable, "-I", str(program), str(archive), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout + done.stderr


async def test_the_program_in_the_archive_finds_nothing_wrong(archive: Path, database_url: str, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    [pem] = (await malipo("close", "key", "--json", database_url=database_url)).json.values()
    key.write_text(pem)
    code, said = _check(archive, "--key", str(key))
    assert (code, said.splitlines()[-1]) == (0, "Nothing is wrong.")
    assert "3 closed days are signed, and each names the hash of the one before." in said
    other = tmp_path / "other.pem"
    other.write_text("-----BEGIN PUBLIC KEY-----\n" + "A" * 60 + "\n-----END PUBLIC KEY-----\n")
    code, said = _check(archive, "--key", str(other))
    assert (code, "the key in the archive is not the one that you were given" in said) == (1, True)


async def test_it_is_the_same_to_the_byte_when_it_is_made_again_later(
    archive: Path, books: Books, database_url: str, tmp_path: Path
) -> None:
    await books.paid("MORE", 900, at(NEXT, "16:00"))
    again = tmp_path / "again.zip"
    await _month(database_url, "2026-11", "--archive", str(again))
    assert _hash(again) == _hash(archive)


async def test_a_receipt_that_was_learned_in_the_next_month_is_not_in_the_journal_of_this_one(books: Books) -> None:
    """A payout that was open at the end of the month has no receipt in the journal, as it has none in payments.csv."""
    payout = books.payments["R2"]
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM moves WHERE cause_id = $1 AND step = 'end'", payout)
        await tx.execute("UPDATE transactions SET ended_at = NULL, status = 'PROCESSING' WHERE id = $1", payout)
        await tx.execute("UPDATE transactions SET provider_reference = NULL WHERE id = $1", payout)
    journals = []
    for learned in (None, "R2"):
        async with books.database.begin() as tx:
            if learned:
                await tx.execute(
                    "UPDATE transactions SET ended_at = $2, status = 'COMPLETED', provider_reference = $3 WHERE id = $1",
                    *(payout, at(NEXT), learned),
                )
        async with books.database.snapshot() as connection:
            read = read_journal(connection, Period.of(FIRST, LAST))
            journals.append([each async for each in read if isinstance(each, Entry)])
    assert journals[0] == journals[1]
    assert [each.receipt for each in journals[1] if each.id.startswith(payout)] == [""]


async def test_what_is_committed_after_two_closes_is_of_the_next_month_before_and_after_its_close(
    archive: Path, books: Books, database_url: str, tmp_path: Path
) -> None:
    """A contradiction of the 29th, when the 29th and the 30th are closed: float, suspense and bank are as they were."""
    moves = [Move(Account.FLOAT, Account.SUSPENSE, 30, "MPESA")]
    await books.post(books.payments["LATE"], Step.CONTRADICTION, moves, at(SECOND, "10:00"))
    waiting, counted, december = (tmp_path / f"{each}.zip" for each in ("waiting", "counted", "december"))
    await _month(database_url, "2026-11", "--archive", str(waiting))
    for number in range(31):
        await books.close(
            NEXT + timedelta(days=number), now=NOW + timedelta(days=40), **(NO_STATEMENT if number == 0 else {})
        )
    await _month(database_url, "2026-11", "--archive", str(counted))
    assert _hash(waiting) == _hash(counted) == _hash(archive)
    assert (await _month(database_url, "2026-12", "--archive", str(december))).err == ""
    with zipfile.ZipFile(december) as opened:
        journal = list(csv.DictReader(io.StringIO(opened.read("journal/journal.csv").decode())))
    late = {(row["date"], row["lateOf"]) for row in journal if row["lateOf"]}
    assert late == {(str(NEXT), str(SECOND))}
    assert _check(december)[0] == 0


async def test_a_settlement_that_comes_back_in_the_next_month_changes_no_byte_of_it(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    async with books.database.begin() as tx:
        sent = Settlement(
            merchant_id=books.merchant_id,
            id=ids.mint("stl_", at(LAST)),
            key="KEY1",
            reference="MLS-1",
            status=SettlementStatus.COMPLETED,
            amount=1000,
            fee=0,
            bank_account_id=None,
            created_at=at(LAST),
            created_by="operator asha",
            sent_at=at(LAST),
            completed_at=at(LAST),
            booked_on=LAST,
            bank_reference="FT9",
            is_adopted=True,
        )
        assert await settlements.insert(tx, sent, idempotency_key=None, request_hash=b"")
    file, again = tmp_path / "november.zip", tmp_path / "again.zip"
    await _month(database_url, "2026-11", "--archive", str(file))
    async with books.database.begin() as tx:
        back = BankReturn(sent.id, "AC04", "FT10", NEXT)
        await bank_outcomes.give_back(tx, [back], now=at(NEXT))
    await _month(database_url, "2026-11", "--archive", str(again))
    assert _hash(file) == _hash(again)
    with zipfile.ZipFile(file) as archive:
        [row] = csv.DictReader(io.StringIO(archive.read("settlements.csv").decode()))
    assert (row["status"], row["completedAt"] != "", row["returnedAt"]) == ("COMPLETED", True, "")


async def test_who_made_it_is_in_the_audit_log_as_who_downloads_it_is(archive: Path, books: Books) -> None:
    async with books.database.read() as connection:
        rows = await connection.fetch(
            "SELECT details ->> 'file' AS file FROM audit_log WHERE action = 'books.downloaded'"
        )
    assert [row["file"] for row in rows] == ["malipo-2026-11.zip"]


async def test_its_closes_say_whose_they_are(books: Books, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "november.zip"
    await malipo(
        *("books", "month", "2026-11", "--archive", str(file)),
        database_url=database_url,
        secret_key=SECRET_KEY,
        company_name="Malipo & Sons",
    )
    with zipfile.ZipFile(file) as opened:
        pages = [opened.read(each).decode() for each in opened.namelist() if each.endswith(".html")]
    assert [("Malipo &amp; Sons" in each) for each in pages] == [True] * 3


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _run(command: str, folder: Path) -> None:
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True, timeout=240)


async def test_sha256sum_openssl_beancount_and_hledger_read_what_is_in_it(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "month"
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    _run("sha256sum --check --strict --quiet MANIFEST.sha256", folder)
    [key] = folder.glob("closes/*.pem")
    for day in (FIRST, SECOND, LAST):
        signed = folder / "closes" / f"close-{day}"
        _run(f"openssl pkeyutl -verify -pubin -inkey {key} -rawin -in {signed}.signed -sigfile {signed}.sig", folder)
    bean_check(folder / "journal" / "journal.beancount")
    hledger(folder / "journal" / "journal.hledger", "check", "--strict")
    with (folder / "trial-balance.csv").open(newline="") as file:
        closing = {row["path"]: int(row["closing"]) for row in csv.DictReader(file)}
    assert hledger_balances(folder / "journal" / "journal.hledger") == {
        path: amount for path, amount in closing.items() if amount
    }


async def test_one_merchants_month_is_in_the_journal_to_the_shilling(archive: Path, books: Books) -> None:
    with zipfile.ZipFile(archive) as opened:
        journal = list(csv.DictReader(io.StringIO(opened.read("journal/journal.csv").decode())))
        [wallet] = [
            row
            for row in csv.DictReader(io.StringIO(opened.read("trial-balance.csv").decode()))
            if (row["code"], row["of"]) == ("2010", books.merchant_id)
        ]
    own = [row for row in journal if (row["accountCode"], row["of"]) == ("2010", books.merchant_id)]
    assert [(row["date"], row["kind"], row["receipt"], row["lateOf"]) for row in own] == [
        (str(SECOND), "collection", "R4", ""),
        (str(LAST), "collection", "LATE", str(SECOND)),
        (str(LAST), "resolution", "R4", ""),
    ]
    assert sum(int(row["debit"] or 0) - int(row["credit"] or 0) for row in own) == int(wallet["closing"]) == -2480


async def test_an_entry_says_why_it_was_booked_and_which_are_refunds_and_adopted(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    """What the network said, what operators said, and the evidence of a booking."""
    payment = books.payments["R4"]
    async with books.database.begin() as tx:
        await tx.execute(
            "UPDATE transactions SET refund_of = $1 WHERE id = $2", books.payments["R1"], books.payments["R2"]
        )
        await tx.execute(
            """
            INSERT INTO adopted_payments (merchant_id, transaction_id, line_id, channel, phone, amount, adopted_at)
            VALUES ($1, $2, 1, 'MPESA', '', 1500, $3)
            """,
            books.merchant_id,
            books.payments["LATE"],
            at(LAST),
        )
        await tx.execute(
            """
            INSERT INTO network_answers (merchant_id, transaction_id, id, received_at, connector, source, verdict, code,
                                         detail)
            VALUES ($1, $2, 'hrg_1', $3, 'mpesa', 'callback', 'refused', 'INS-6', 'No money')
            """,
            books.merchant_id,
            payment,
            at(LAST),
        )
        await tx.execute(
            """
            INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence,
                                     requested_by, requested_at, decided_by, decided_at, is_approved, ordinal)
            VALUES ('res_1', $1, $2, 'failed', true, 'Their letter of the 30th', 'operator asha', $3, 'operator juma', $3,
                    true, 2)
            """,
            books.merchant_id,
            payment,
            at(LAST, "13:00"),
        )
    file = tmp_path / "november.zip"
    await _month(database_url, "2026-11", "--archive", str(file))
    with zipfile.ZipFile(file) as opened:
        journal = list(csv.DictReader(io.StringIO(opened.read("journal/journal.csv").decode())))
        others = [opened.read(f"journal/journal.{each}").decode() for each in ("beancount", "hledger")]
    said = {(row["kind"], row["receipt"]): row for row in journal}
    assert said["contradiction", "R4"]["evidence"] == "mpesa callback refused INS-6 No money"
    assert said["resolution", "R4"]["evidence"] == "Their letter of the 30th"
    assert said["payout_paid", "R2"]["refundOf"] == books.payments["R1"]
    assert [row["receipt"] for row in journal if row["isAdopted"]] == ["LATE"] * 3
    assert all("Their letter of the 30th" in each for each in others)
    assert _check(file)[0] == 0


async def test_each_payment_of_the_month_is_in_it_as_of_its_end_with_why_it_failed(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    """Of a collection that failed nothing moved, so the journal does not have it."""
    await books.failed_payout("NOT-PAID", 900, at(LAST, "14:00"))
    await books.failed_payout("IN-DECEMBER", 800, at(LAST, "14:00"))
    await books.failed_payout("OF-DECEMBER", 700, at(NEXT, "14:00"))
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM moves WHERE cause_id = ANY($1)", [books.payments[each] for each in _UNMOVED])
        await tx.execute(
            """
            UPDATE transactions SET failure_code = 'declined', failure_reason = '=1+1', network_code = '1032',
                   type = 'COLLECTION', failure_detail = 'not_registered'
            WHERE id = $1
            """,
            books.payments["NOT-PAID"],
        )
        await tx.execute("UPDATE transactions SET ended_at = $1 WHERE id = $2", NOW, books.payments["IN-DECEMBER"])
    file = tmp_path / "november.zip"
    assert (await _month(database_url, "2026-11", "--archive", str(file))).err == ""
    with zipfile.ZipFile(file) as opened:
        rows = list(csv.DictReader(io.StringIO(opened.read("payments.csv").decode())))
        assert "payments.csv " in opened.read("README.txt").decode()
        assert "  payments.csv\n" in opened.read("MANIFEST.sha256").decode()
    of = {row["id"]: row for row in rows}
    known = {name: of[id_] for name, id_ in books.payments.items() if id_ in of}
    assert books.payments.keys() - known.keys() == {"DEC", "OF-DECEMBER"}
    failed, waits, paid = known["NOT-PAID"], known["IN-DECEMBER"], known["R2"]
    assert {name: failed[name] for name in ("type", "status", "amount", "failureCode", "failureDetail")} == {
        "type": "COLLECTION",
        "status": "FAILED",
        "amount": "900",
        "failureCode": "declined",
        "failureDetail": "not_registered",
    }
    assert (failed["networkCode"], failed["failureReason"]) == ("1032", "'=1+1")
    assert (waits["status"], waits["endedAt"], waits["failureCode"]) == ("OPEN", "", ""), "it failed in December"
    assert (paid["status"], paid["receipt"], paid["failureCode"], paid["channel"]) == ("COMPLETED", "R2", "", "MPESA")
    assert _check(file)[0] == 0


_UNMOVED = ("NOT-PAID", "IN-DECEMBER", "OF-DECEMBER")


async def test_it_has_what_people_decided_and_what_was_open_at_its_end(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    """What they decide in December is in December's."""
    found = await books.exception("theirs_only", "F2")
    async with books.database.begin() as tx:
        for action, when in (("a.november", at(LAST, "23:59:59")), ("a.december", at(NEXT, "00:00"))):
            await audit_log.append(tx, ASHA, action, now=when, why="=1+1")
        for number, (requested, decided) in enumerate([(at(LAST), at(NEXT)), (at(FIRST), at(LAST)), (at(NEXT), NOW)]):
            await tx.execute(
                """
                INSERT INTO proposals (id, action, subject, amount, terms, reason, requested_by, requested_at, decided_by,
                                       decided_at, is_approved)
                VALUES ($1, 'wallet.top_up', 'mer_1', 500, '{}', 'FT', 'operator asha', $2, 'operator juma', $3, true)
                """,
                f"prp_{number}",
                requested,
                decided,
            )
    file, again = tmp_path / "november.zip", tmp_path / "again.zip"
    await _month(database_url, "2026-11", "--archive", str(file))
    async with books.database.begin() as tx:
        await tx.execute(
            "UPDATE reconciliation_exceptions SET state = 'resolved', resolved_by = 'malipo', resolved_at = $1, "
            "why_resolved = 'it came'",
            NOW,
        )
    await _month(database_url, "2026-11", "--archive", str(again))
    assert file.read_bytes() == again.read_bytes()

    def rows(name: str, *columns: str) -> list[tuple[str, ...]]:
        with zipfile.ZipFile(file) as opened:
            table = csv.DictReader(io.StringIO(opened.read(name).decode()))
            return [tuple(row[each] for each in columns) for row in table]

    own = [each for each in rows("audit-log.csv", "action", "details") if each[0].startswith("a.")]
    assert own == [("a.november", '{"why":"=1+1"}')]
    assert rows("decisions.csv", "id", "state", "decidedBy") == [
        ("prp_1", "approved", "operator juma"),
        ("prp_0", "open", ""),
    ]
    assert rows("exceptions.csv", "id", "receipt", "amount", "state") == [(found, "F2", "-150", "open")]
    assert rows("suspense.csv", "kind", "amount", "since", "days", "evidence", "releasedTo") == [
        ("sweep", "40", str(SECOND), "1", "The other till", "")
    ]
    assert rows("bank/reconciliation.csv", "row", "day", "cents", "reference") == [
        ("before", "", "0", ""),
        ("ours_only", str(FIRST - timedelta(days=3)), "-25000000", "FT-1"),
        ("cents", "", "0", ""),
        ("unexplained", "", "0", ""),
        ("books", "", "25000000", ""),
    ]
    code, said = _check(file)
    assert (code, "1 causes are all that is in suspense." in said) == (0, True), said
    for name, old, new in (
        ("suspense.csv", b",40,", b",41,"),
        ("bank/reconciliation.csv", b"books,,,25", b"books,,,26"),
    ):
        code, said = _check(_changed(file, name, old, new, with_manifest=True))
        assert (code, f"WRONG: {name} has" in said) == (1, True), said


async def test_a_statement_is_in_it_as_it_came(archive: Path, books: Books) -> None:
    came = (books.folder / f"MPESA--{FIRST}.csv").read_bytes()
    with zipfile.ZipFile(archive) as opened:
        [row] = csv.DictReader(io.StringIO(opened.read("statements/networks.csv").decode()))
        assert (row["asItCame"], row["sha256"]) == ("yes", hashlib.sha256(came).hexdigest())
        assert opened.read(row["file"]) == came


async def test_of_a_statement_that_an_earlier_version_imported_it_has_the_lines(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM file_contents")
    file = tmp_path / "lines.zip"
    await _month(database_url, "2026-11", "--archive", str(file))
    with zipfile.ZipFile(file) as opened:
        [row] = csv.DictReader(io.StringIO(opened.read("statements/networks.csv").decode()))
        assert row["asItCame"] == "no"
        lines = list(csv.DictReader(io.StringIO(opened.read(row["file"]).decode())))
    assert [(each["receipt"], each["amount"]) for each in lines] == [("R1", "5000"), ("R2", "-20000"), ("F2", "-150")]
    assert _check(file)[0] == 0


def _changed(archive: Path, name: str, old: bytes, new: bytes, *, with_manifest: bool) -> Path:
    """The same archive with another member, as somebody makes it who does not want to be found."""
    file = archive.with_name("changed.zip")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(file, "w") as target:
        members = {each: source.read(each) for each in source.namelist()}
        assert old in members[name]
        before = hashlib.sha256(members[name]).hexdigest().encode()
        members[name] = members[name].replace(old, new, 1)
        if with_manifest:
            after = hashlib.sha256(members[name]).hexdigest().encode()
            members["MANIFEST.sha256"] = members["MANIFEST.sha256"].replace(before, after)
        for each, content in members.items():
            target.writestr(each, content)
    return file


CLOSE = f"closes/close-{SECOND}.signed"
# What somebody changes, and what is said then.
CHANGES = [
    ("journal/journal.csv", b",3990,", b",3991,", "does not lead to the balances that the close of 2026-11-29"),
    ("trial-balance.csv", b"2010,wallet", b"2020,wallet", "the trial balance is not that of the journal"),
    (
        "journal/journal.beancount",
        b"  -3990 TZS",
        b"  -3991 TZS",
        "journal/journal.beancount differs from journal/journal.csv: 2026-11-29",
    ),
    (
        "journal/journal.hledger",
        b"TZS -3990\n",
        b"TZS 0\n",
        "journal/journal.hledger differs from journal/journal.csv: 2026-11-29",
    ),
    (CLOSE, b"portal away", b"portal fell", f"the signature of {SECOND} is wrong"),
    (CLOSE, b"2026-11-29", b"2026-11-27", f"the hash of {SECOND} is not that of its content"),
    (CLOSE, b'\\"fees\\":', b'\\"feed\\":', f"the hash of {SECOND} is not that of its content"),
]


@pytest.mark.parametrize(("name", "old", "new", "finding"), CHANGES)
async def test_what_somebody_has_changed_is_found(
    archive: Path, name: str, old: bytes, new: bytes, finding: str
) -> None:
    code, said = _check(_changed(archive, name, old, new, with_manifest=False))
    assert (code, f"WRONG: {name} was changed" in said) == (1, True), said
    code, said = _check(_changed(archive, name, old, new, with_manifest=True))
    assert (code, finding in said) == (1, True), said


# What no close has: only the signature of the list of hashes holds it.
UNSIGNED_BEFORE = [
    ("journal/journal.hledger", b"3990", b"3991"),
    ("settlements.csv", b"", b"\n"),
    ("statements/networks.csv", b"MPESA", b"TIGO_PESA"),
    ("README.txt", b"Whole shillings", b"Whole dollars"),
]


@pytest.mark.parametrize(("name", "old", "new"), UNSIGNED_BEFORE)
async def test_what_no_close_has_is_held_by_the_signature_of_the_list(
    archive: Path, name: str, old: bytes, new: bytes
) -> None:
    code, said = _check(_changed(archive, name, old, new, with_manifest=True))
    assert (code, "WRONG: MANIFEST.sha256 is not signed by the key of the closed days" in said) == (1, True), said


async def test_a_list_without_a_signature_or_with_that_of_a_close_is_found(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        of_a_close = opened.read(f"closes/close-{LAST}.sig")
        signature = opened.read("MANIFEST.sig")
    for other in (b"", of_a_close, signature[:-1] + b"\xff"):
        code, said = _check(_changed(archive, "MANIFEST.sig", signature, other, with_manifest=False))
        assert (code, "is not signed by the key of the closed days" in said) == (1, True), said


async def test_without_the_key_of_the_closes_there_is_no_archive(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "november.zip"
    async with books.database.begin() as tx:
        await tx.execute("UPDATE close_signing_keys SET secret = set_byte(secret, 20, 255 - get_byte(secret, 20))")
    said = await _month(database_url, "2026-11", "--archive", str(file))
    assert said.err.startswith("malipo: The key that signs closes cannot be decrypted"), said.err
    assert _files(tmp_path, "november*") == []


def _files(folder: Path, names: str) -> list[Path]:
    return list(folder.glob(names))


async def test_invoices_add_up_to_the_fees_of_the_journal_and_are_in_it_as_pdf(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    status = await _month(database_url, "2026-11")
    assert "Merchants whose fees are not invoiced: 2." in status.out
    async with books.database.begin() as tx:
        await invoices.set_rate(tx, TaxRate(date(2026, 1, 1), 1800), by="operator asha", now=NOW)
        seller = Party(name="Malipo Ltd", vrn="40-320840-G")
        issued = await issue_invoices.issue(tx, date(2026, 11, 1), seller=seller, actor=ASHA, now=NOW)
    assert len(issued) == 2
    status = await _month(database_url, "2026-11")
    assert "not invoiced" not in status.out
    file = tmp_path / "november.zip"
    await _month(database_url, "2026-11", "--archive", str(file))
    code, said = _check(file)
    assert (code, "2 invoices and credit notes add up to the fees of the journal" in said) == (0, True), said
    with zipfile.ZipFile(file) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("invoices.csv").decode())))
        assert all(archive.read(row["file"]).startswith(b"%PDF") for row in rows)
    wrong = _changed(file, "invoices.csv", rows[0]["total"].encode() + b",invoices", b"99,invoices", with_manifest=True)
    code, said = _check(wrong)
    assert (code, "does not add up" in said, "and the journal has fees of" in said) == (1, True, True), said


async def test_late_fees_that_cannot_be_separated_are_in_the_invoice_of_their_month(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    """The journal takes their sum out of the last day: the invoices have them, and the program knows it."""
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM day_close_snapshots")
    await books.paid("LATE 2", 1_500, at(LAST, "23:59"))
    async with books.database.begin() as tx:
        seller = Party(name="Malipo Ltd")
        issued = await issue_invoices.issue(tx, date(2026, 11, 1), seller=seller, actor=ASHA, now=NOW)
    assert sum(each.gross for each in issued) == 50
    file = tmp_path / "november.zip"
    await _month(database_url, "2026-11", "--archive", str(file))
    code, said = _check(file)
    assert (code, "2 invoices and credit notes add up to the fees of the journal" in said) == (0, True), said


async def test_the_first_month_has_what_was_before_its_first_close(archive: Path, books: Books) -> None:
    """Invoices have the fees of these days too."""
    with zipfile.ZipFile(archive) as opened:
        journal = list(csv.DictReader(io.StringIO(opened.read("journal/journal.csv").decode())))
        vouchers = opened.read("journal/vouchers-quickbooks.csv").decode()
    days = [row["date"] for row in journal if row["receipt"] == "EARLY"]
    assert days == [str(FIRST - timedelta(days=2))] * 3
    assert f"MALIPO-{FIRST:%Y%m%d}-OPENING" in vouchers
    assert _check(archive)[0] == 0


async def test_a_merchant_whose_fees_cancel_out_needs_no_invoice(books: Books, database_url: str) -> None:
    back = [Move(Account.FEES, Account.SUSPENSE, 10)]
    await books.paid("DEC 2", 700, at(NEXT, "10:00"))
    for receipt in ("DEC", "DEC 2"):
        await books.post(books.payments[receipt], Step.CONTRADICTION, back, at(NEXT, "20:00"))
    for day in range(1, 32):
        how = NO_STATEMENT if day == 1 else {}
        await books.close(date(2026, 12, day), now=NOW + timedelta(days=30), **how)
    said = await _month(database_url, "2026-12", "--json")
    assert "month_invoices" not in {each["code"] for each in said.json["missing"]}, said.out


async def test_a_month_that_is_not_closed_has_no_archive(books: Books, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "december.zip"
    said = await _month(database_url, "2026-12", "--archive", str(file))
    assert (said.code, said.err) == (2, "malipo: No day of 2026-12 is closed.\n")
    await books.close(NEXT, now=NOW, **NO_STATEMENT)
    said = await _month(database_url, "2026-12", "--archive", str(file))
    assert said.err.startswith("malipo: Not every day of 2026-12 is closed: 2026-12-02 – 2026-12-31.")
    assert _files(tmp_path, "december*") == []


async def test_a_ledger_that_differs_from_its_close_has_no_archive(
    books: Books, database_url: str, tmp_path: Path
) -> None:
    async with books.database.begin() as tx:
        await tx.execute("UPDATE moves SET amount = amount + 1 WHERE cause_id = $1", books.payments["R4"])
    file = tmp_path / "november.zip"
    said = await _month(database_url, "2026-11", "--archive", str(file))
    assert said.err.startswith(
        "malipo: The ledger differs from the signed close of 2026-11-30, so there is no archive: malipo close verify"
    )
    assert _files(tmp_path, "november*") == []
    status = await _month(database_url, "2026-11")
    assert (status.code, "The ledger differs from the signed close of 2026-11-30" in status.out) == (1, True)


async def test_the_month_names_merchants_without_legal_data_until_their_invoices_are_issued(
    books: Books, database_url: str
) -> None:
    """What is issued never changes."""

    async def missing() -> dict[str, str]:
        said = (await _month(database_url, "2026-11", "--json")).json["missing"]
        return {each["code"]: each["sentence"] for each in said}

    assert (await missing())[
        "month_buyers"
    ] == "Merchants whose invoices would have no TIN or no address: 2 (Duka, Duka)."
    async with books.database.read() as connection:
        merchants = await connection.fetch("SELECT id FROM merchants")
    for merchant in merchants:
        for said in ({"tin": "123456789"}, {"address": "PO Box 7"}):
            assert "month_buyers" in await missing()
            async with books.database.begin() as tx:
                await change_invoice_data.change_buyer(tx, merchant["id"], **said, actor=ASHA, now=NOW)
    assert "month_buyers" not in await missing()
    assert "month_invoices" in await missing()


async def test_the_month_says_what_is_missing_and_what_is_open(books: Books, database_url: str) -> None:
    november = (await _month(database_url, "2026-11", "--json")).json
    assert (november["closedDays"], november["canBeArchived"]) == (3, True)
    codes = {each["code"]: each["sentence"] for each in november["open"]}
    assert codes["month_closed_without"] == f"Closed without a statement of MPESA: {SECOND} – {LAST}."
    assert codes["month_accepted"] == f"Closed with a difference that two operators accepted: {FIRST}."


def test_signatures_are_those_of_the_standard() -> None:
    """The first vectors of RFC 8032, 7.1."""
    vectors = [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
    ]
    for key, message, signature in vectors:
        public, text, signed = map(bytes.fromhex, (key, message, signature))
        assert check_archive.is_signed(public, text, signed)
        assert not check_archive.is_signed(public, text + b"\0", signed)
        assert not check_archive.is_signed(public, text, signed[:-1] + b"\xff")
        assert not check_archive.is_signed(public, text, bytes([signed[0] ^ 1]) + signed[1:])
