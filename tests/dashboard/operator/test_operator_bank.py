"""/operator/bank: settlements are paid by files that two operators agree on, and the bank's statements decide."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.bank.line_decision import BankExceptionKind
from malipo.bank.store import payer_accounts
from malipo.dashboard.operator.bank.exceptions import WHY_NO_PLACE
from malipo.db import Database
from malipo.settlement.settlement import Settlement
from malipo_simulator.bank.bank import Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.approvals.page_door import hidden_in
from tests.bank.bank_desk import WHY, BankDesk
from tests.conftest import PATIENCE_SECONDS, Running, make_merchant
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.operator.statement_pages import send
from tests.dashboard.operator.test_operator_casework import PDF, attach
from tests.dashboard.page_client import Seen
from tests.settlement.settlement_steps import add_account

BANK = "/operator/bank"
FILES, STATEMENTS, EXCEPTIONS = f"{BANK}/files", f"{BANK}/statements", f"{BANK}/exceptions"
MILLION = 1_000_000


@dataclass
class BankPages:
    """Two operators at their browsers, a merchant with TZS 5,000,000, and the simulated bank."""

    asha: Operator
    juma: Operator
    desk: BankDesk

    async def add_account(self, **fields: str) -> Seen:
        bank = self.desk.bank
        typed = {"number": bank.account, "bic": bank.bic, "name": bank.name, "format": "pain.001"} | fields
        return await self.asha.surfer.post(BANK, typed)

    async def with_account(self) -> None:
        assert (await self.add_account()).to == BANK
        assert (await self.approve(BANK)).to == BANK

    async def approve(self, page: str, by: Operator | None = None) -> Seen:
        surfer = (by or self.juma).surfer
        fields = hidden_in(await surfer.get(page), f"{BANK}/approve", {})
        return await surfer.post(f"{BANK}/approve", fields)

    async def gathered(self) -> str:
        """The page of a new file."""
        seen = await self.asha.surfer.post(f"{FILES}/gather", {"account": self.desk.bank.account})
        assert seen.status == 303, seen.words
        return seen.to

    async def paid(self, amount: int = 100_000) -> tuple[str, Settlement]:
        """A file with one settlement that the bank has booked, and that no statement of ours has."""
        settlement = await self.desk.requested(amount)
        page = await self.gathered()
        assert (await self.approve(page)).to == page
        seen = await self.juma.surfer.post(f"{page}/download")
        assert seen.status == 200, seen.words
        self.desk.bank.take(seen.text.encode(), self.desk.today)
        return page, settlement

    def statement(self, format_: str = "camt053") -> bytes:
        return FORMATS[format_][1](self.desk.bank, self.desk.today, self.desk.today)

    async def sent(self, content: bytes, name: str = "taarifa.xml") -> str:
        seen = await send(self.asha, content, name=name, to=f"{STATEMENTS}/new")
        assert seen.status == 303, seen.words
        return seen.to

    async def imported(self, content: bytes | None = None, **fields: str) -> Seen:
        page = await self.sent(self.statement() if content is None else content)
        return await self.asha.surfer.post(f"{page}/import", fields)

    async def status(self, settlement: Settlement) -> str:
        return str((await self.desk.look(settlement)).status)


@pytest.fixture
async def pages(service: Service, running: Running, database: Database, tmp_path: Path) -> AsyncIterator[BankPages]:
    merchant = await make_merchant(database, wallet=5 * MILLION, name="Duka la Juma")
    account = await add_account(database, merchant.id, now=clock.now() - timedelta(days=30))
    async with AsyncExitStack() as stack:
        operators = OperatorPages(service, running, merchant, stack)
        asha, juma = await operators.operator("asha"), await operators.operator("juma")
        yield BankPages(asha, juma, BankDesk(service, database, merchant, account, tmp_path, Bank()))


async def test_a_file_that_the_bank_knows_and_nobody_has_downloaded_is_shown_as_such(pages: BankPages) -> None:
    """A restore has lost that it was handed in."""
    await pages.with_account()
    page, settlement = await pages.paid()
    assert (await pages.imported()).status == 303
    assert await pages.status(settlement) == "COMPLETED"
    assert "Download the file" in (await pages.juma.surfer.get(page)).words
    async with pages.desk.database.begin() as tx:
        await tx.execute("UPDATE payout_files SET downloaded_at = NULL")
    seen = await pages.juma.surfer.get(page)
    assert (
        f"By our books nobody has downloaded the file {page.rpartition('/')[2]}, and {settlement.reference}"
        in seen.words
    )
    assert "Download the file" not in seen.words
    refused = await pages.juma.surfer.post(f"{page}/download")
    assert (refused.status, "Do not hand it in." in refused.words) == (409, True)


async def test_a_first_download_waits_until_a_mark_has_it_and_a_file_that_nobody_has_is_void_at_once(
    pages: BankPages,
) -> None:
    await pages.with_account()
    await pages.desk.worker_looks()
    await pages.desk.requested(100_000)
    page = await pages.gathered()
    assert (await pages.approve(page)).to == page
    assert "Nobody has ever downloaded it" in (await pages.juma.surfer.get(page)).words
    proposed = await pages.juma.surfer.post(f"{page}/void", {"why": "not-downloaded", "reason": "An owner called"})
    assert proposed.status == 303, proposed.words
    assert "not_downloaded" in (await pages.asha.surfer.get(page)).words

    downloading = asyncio.create_task(pages.juma.surfer.post(f"{page}/download"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await pages.desk.database_rows("SELECT 1 FROM payout_files WHERE looks IS NOT NULL"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    for _ in range(3):
        await pages.desk.worker_looks()
    assert (await downloading).status == 200
    assert "perhaps has it" in (await pages.approve(page, pages.asha)).words


async def test_money_on_its_way_to_a_stopped_bank_account_is_seen_at_once(pages: BankPages) -> None:
    await pages.with_account()
    settlement = await pages.desk.requested(100_000)
    page = await pages.gathered()
    assert (await pages.approve(page)).to == page
    assert "on its way to stopped" not in (await pages.juma.surfer.get("/operator/waiting")).words
    account = f"/operator/bank-accounts/{pages.desk.account.id}"
    assert (await pages.juma.surfer.post(f"{account}/stop", {"reason": "An owner has called us"})).to == account

    waiting = await pages.asha.surfer.get("/operator/waiting")
    for said in ("Money on its way to stopped bank accounts", settlement.reference, "Duka la Juma", "TZS 100,000"):
        assert said in waiting.words
    assert f'href="{page}"' in waiting.text
    seen = await pages.asha.surfer.get(page)
    assert f"sends {settlement.reference} was stopped after the approval" in seen.words
    assert "Download the file" not in seen.words
    refused = await pages.juma.surfer.post(f"{page}/download")
    assert (refused.status, "Do not hand the file in." in refused.words) == (409, True)


async def test_a_settlement_is_paid_from_the_account_to_the_statement(pages: BankPages) -> None:
    await pages.with_account()
    settlement = await pages.desk.requested(100_000)
    assert "1 settlement waits for a file: TZS 100,000" in (await pages.asha.surfer.get(FILES)).words

    page = await pages.gathered()
    mine = await pages.asha.surfer.get(page)
    assert "Take it back" in mine.words
    assert "Approve" not in re.sub("Approved", "", mine.words), "who made it does not approve it"
    theirs = await pages.juma.surfer.get(page)
    for said in ("Proposed: this file goes to the bank", settlement.reference, "Duka la Juma", "TZS 100,000"):
        assert said in theirs.words
    assert (await pages.juma.surfer.post(f"{page}/download")).status == 409, "nothing of it can be paid yet"
    assert (await pages.approve(page)).to == page
    assert await pages.status(settlement) == "SENT"

    first, again = [await pages.juma.surfer.post(f"{page}/download") for _ in range(2)]
    assert first.text == again.text
    assert settlement.key in first.text
    assert re.fullmatch(r'attachment; filename="\w+\.xml"', first.headers["Content-Disposition"])
    pages.desk.bank.take(first.text.encode(), pages.desk.today)

    upload = await pages.sent(pages.statement())
    preview = await pages.asha.surfer.get(upload)
    for said in ("Read as camt.053", "− TZS 100,000", settlement.key):
        assert said in preview.words
    done = await pages.asha.surfer.post(f"{upload}/import")
    assert done.to.startswith(f"{STATEMENTS}/bst_"), done.words
    assert await pages.status(settlement) == "COMPLETED"
    seen = await pages.juma.surfer.get(done.to)
    assert "Counts" in seen.words
    assert "A settlement, paid" in seen.words
    assert f'href="/operator/settlements/{settlement.id}"' in seen.text
    assert "Unexplained Nothing" in (await pages.juma.surfer.get(BANK)).words
    assert (await pages.asha.surfer.get(upload)).status == 404, "the file is not kept"
    assert "This file was imported before" in (await pages.asha.surfer.get((await pages.imported()).to)).words


async def test_an_approver_who_was_shown_another_file_approves_nothing(pages: BankPages) -> None:
    await pages.with_account()
    first, second = await pages.desk.requested(100_000), await pages.desk.requested(200_000)
    page = await pages.gathered()
    fields = hidden_in(await pages.juma.surfer.get(page), f"{BANK}/approve", {})
    async with pages.desk.database.begin() as tx:
        await tx.execute("UPDATE wallets SET owed = 1 WHERE merchant_id = $1", pages.desk.merchant.id)

    seen = await pages.juma.surfer.post(f"{BANK}/approve", fields)

    assert seen.status == 409
    assert "owes" in seen.words
    assert [await pages.status(each) for each in (first, second)] == ["REQUESTED"] * 2
    for forged in ({"proposal": "bkp_x", "seen": "x"}, {"proposal": first.id, "seen": "x"}, {}):
        assert (await pages.juma.surfer.post(f"{BANK}/approve", forged)).status == 409


async def test_a_rejected_file_lets_its_settlements_wait_for_another(pages: BankPages) -> None:
    await pages.with_account()
    settlement = await pages.desk.requested(100_000)
    page = await pages.gathered()
    fields = hidden_in(await pages.juma.surfer.get(page), f"{BANK}/reject", {})

    assert (await pages.juma.surfer.post(f"{BANK}/reject", fields)).to == page

    assert "Void" in (await pages.juma.surfer.get(page)).words
    assert not (await pages.desk.look(settlement)).is_in_file


async def test_a_file_that_the_bank_has_refused_is_void_with_its_own_message_only(pages: BankPages) -> None:
    await pages.with_account()
    settlement = await pages.desk.requested(100_000)
    page = await pages.gathered()
    await pages.approve(page)
    [message] = re.findall(r"MsgId</dt><dd><code>(\w+)", (await pages.juma.surfer.get(page)).text)

    other = await pages.asha.surfer.post(f"{page}/void", {"why": "refused", "reason": "They refused another one"})
    assert (other.status, message in other.words) == (409, True)
    covered = await pages.asha.surfer.post(f"{page}/void", {"why": "not-on-statements", "reason": WHY})
    assert covered.status == 409
    refused = {"why": "refused", "reason": f"The bank refused {message}: no cover"}
    assert (await pages.asha.surfer.post(f"{page}/void", refused)).to == page
    assert (await pages.approve(page)).to == page
    assert await pages.status(settlement) == "REQUESTED"


async def test_transfers_that_the_bank_has_refused_are_back_in_the_wallet(pages: BankPages) -> None:
    await pages.with_account()
    paid, refused = await pages.desk.requested(100_000), await pages.desk.requested(200_000)
    page = await pages.gathered()
    await pages.approve(page)

    nothing = await pages.asha.surfer.post(f"{page}/refuse", {"transfer": refused.id, "reason": "No"})
    assert nothing.status == 400
    assert (await pages.asha.surfer.post(f"{page}/refuse", {"transfer": refused.id, "reason": WHY})).to == page
    seen = await pages.juma.surfer.get(page)
    assert "Proposed: the bank has refused these transfers" in seen.words
    assert (await pages.approve(page)).to == page
    assert [await pages.status(each) for each in (paid, refused)] == ["SENT", "RETURNED"]


async def test_above_the_approval_amount_a_statement_counts_when_another_has_approved_it(pages: BankPages) -> None:
    await pages.with_account()
    _, settlement = await pages.paid(2 * MILLION)

    done = await pages.imported()
    assert await pages.status(settlement) == "SENT"
    seen = await pages.juma.surfer.get(done.to)
    for said in ("Waits for a second operator", "Proposed: this statement counts", settlement.reference, "COMPLETED"):
        assert said in seen.words
    assert (await pages.approve(done.to)).to == done.to
    assert await pages.status(settlement) == "COMPLETED"


async def test_what_does_not_add_up_is_said_and_counts_only_if_it_is_accepted(pages: BankPages) -> None:
    await pages.with_account()
    _, settlement = await pages.paid()
    content = re.sub(rb"(:62F:[CD]\d{6}TZS)[\d,]+", rb"\g<1>7,00", pages.statement("mt940"))

    refused = await pages.imported(content)
    assert refused.status == 400
    assert "It does not add up." in refused.words
    assert await pages.status(settlement) == "SENT"
    done = await pages.imported(content, accept="yes")
    assert done.status == 303, done.words
    assert await pages.status(settlement) == "COMPLETED"
    assert "It covers no day." in (await pages.juma.surfer.get(done.to)).words


async def test_a_file_that_is_no_statement_changes_nothing(pages: BankPages) -> None:
    await pages.with_account()
    empty = await send(pages.asha, b"", name="x.xml", to=f"{STATEMENTS}/new")
    assert (empty.status, "Choose a file." in empty.words) == (400, True)
    for content in (b"hello", b"<html></html>", b":20:X\r\n:25:1\r\n", b"\x00\xff" * 500):
        seen = await pages.asha.surfer.get(await pages.sent(content))
        assert (seen.status, 'class="notice bad"' in seen.text) == (200, True), content
        assert "Import it" not in seen.words


async def test_nobody_sees_what_another_operator_has_sent(pages: BankPages) -> None:
    await pages.with_account()
    upload = await pages.sent(pages.statement())
    assert (await pages.juma.surfer.get(upload)).status == 404
    assert (await pages.juma.surfer.post(f"{upload}/import")).status == 404


async def test_a_line_that_nothing_fits_is_decided_and_a_statement_is_withdrawn(pages: BankPages) -> None:
    await pages.with_account()
    pages.desk.move(-700, "CHG1", "Ledger fee")
    pages.desk.move(900, "GIFT")
    statement = (await pages.imported()).to
    listed = await pages.asha.surfer.get(EXCEPTIONS)
    assert "A debit that nobody knows" in listed.words
    charge, gift = [f"{EXCEPTIONS}/{each}" for each in _ids_in(listed, "CHG1", "GIFT")]

    assert (await pages.asha.surfer.post(f"{charge}/decide", {"reason": WHY})).status == 400
    wrong = await pages.asha.surfer.post(f"{charge}/decide", {"action": "book", "account": "wallet", "reason": WHY})
    assert wrong.status == 400
    done = await pages.asha.surfer.post(
        f"{charge}/decide", {"action": "book", "account": "bank_charges", "reason": WHY}
    )
    assert done.to == charge, done.words
    assert "Resolved" in (await pages.asha.surfer.get(charge)).words
    assert "No place yet" in (await pages.asha.surfer.get(statement)).words
    assert (await pages.asha.surfer.post(f"{EXCEPTIONS}/match")).to == EXCEPTIONS
    undo = await pages.asha.surfer.post(f"{statement}/withdraw", {"reason": WHY})
    assert (undo.status, "have ended settlements, or were booked" in undo.words) == (409, True)
    assert "1 line of the bank has no place yet" in (await pages.juma.surfer.get(BANK)).words
    assert (await pages.juma.surfer.get(gift)).status == 200


async def test_a_line_without_a_place_has_an_owner_a_day_and_files_like_any_exception(pages: BankPages) -> None:
    await pages.with_account()
    for reference, cents in (("CHG1", -700), ("CHG2", -800), ("CHG3", -900)):
        pages.desk.move(cents, reference)
    await pages.imported()
    listed = await pages.asha.surfer.get(EXCEPTIONS)
    mine, due, _free = [f"{EXCEPTIONS}/{each}" for each in _ids_in(listed, "CHG1", "CHG2", "CHG3")]
    today, bank = clock.day_of(clock.now()), pages.asha.surfer
    for path, owner, day in ((mine, pages.asha.name, today + timedelta(days=9)), (due, pages.juma.name, today)):
        assert (await bank.post(f"{path}/assign", {"owner": owner, "due": str(day)})).to == f"{path}#casework"
    assert f"due {today}" in (await bank.get(EXCEPTIONS)).words
    for query, found in (
        ("", ["CHG1", "CHG2", "CHG3"]),
        ("owner=me", ["CHG1"]),
        ("owner=none", ["CHG3"]),
        ("due=yes", ["CHG2"]),
        ("owner=wrong&due=wrong", ["CHG1", "CHG2", "CHG3"]),
    ):
        text = _open_lines(await bank.get(f"{EXCEPTIONS}?{query}"))
        assert [each for each in ("CHG1", "CHG2", "CHG3") if f"<code>{each}<" in text] == found, query
    for operator, shown in ((pages.asha, ["CHG1", "CHG2"]), (pages.juma, ["CHG2"])):
        waiting = (await operator.surfer.get("/operator/waiting")).text
        assert [each for each in ("CHG1", "CHG2", "CHG3") if each in waiting] == shown, operator.name
    async with pages.desk.database.read() as connection:
        [deed] = await audit_log.find(connection, limit=1)
    assert (deed.action, deed.details["subject"]) == ("assignment.changed", due.rpartition("/")[2])

    assert (await attach(pages.asha, mine, "barua.pdf", PDF)).to == f"{mine}#casework"
    assert "barua.pdf" in (await pages.juma.surfer.get(mine)).words
    wrong = await bank.post(f"{mine}/assign", {"owner": "nobody.such", "due": ""})
    assert (wrong.status, "is no operator who may decide" in wrong.words) == (400, True)
    for act, fields in (("assign", {"owner": pages.asha.name}), ("attach", {})):
        assert (await bank.post(f"{EXCEPTIONS}/bex_none/{act}", fields)).status == 404

    decision = {"action": "book", "account": "bank_charges", "reason": WHY}
    assert (await bank.post(f"{mine}/decide", decision)).to == mine
    assert "CHG1" not in (await bank.get("/operator/waiting")).text, "what is decided waits for nobody"


def _open_lines(seen: Seen) -> str:
    """The list of exceptions, without the latest lines."""
    return seen.text[: seen.text.index('id="lines"')]


def _ids_in(seen: Seen, *references: str) -> list[str]:
    """Of the exceptions of these lines, in this order."""
    of = dict.fromkeys(references, "")
    for row in _open_lines(seen).split("<tr>"):
        for id_ in re.findall(r"exceptions/(bex_\w+)", row):
            of |= {each: id_ for each in references if f"<code>{each}</code>" in row}
    return list(of.values())


MISTAKES = [
    ({"bic": "NMB"}, "is no BIC"),
    ({"number": "1"}, "An account's number is"),
    ({"name": ""}, "The holder's name is"),
    ({"urgentAbove": "a lot"}, "Type a whole number of shillings"),
    ({"format": "csv", "payoutLayout": "x = ["}, "The layout of the payout file cannot be read"),
    ({"statementLayout": "x = ["}, "The layout of the bank's statement cannot be read"),
]


async def test_a_mistake_about_our_account_is_said_and_nothing_is_proposed(pages: BankPages) -> None:
    for fields, said in MISTAKES:
        seen = await pages.add_account(**fields)
        assert (seen.status, said in seen.words) == (400, True), seen.words
    async with pages.desk.database.read() as connection:
        assert await payer_accounts.find_all(connection) == []
        assert await connection.fetchval("SELECT count(*) FROM proposals") == 0


async def test_an_account_is_changed_by_two_and_shows_what_changes(pages: BankPages) -> None:
    await pages.with_account()
    [change] = re.findall(rf'href="({BANK}\?change=\w+)#add"', (await pages.asha.surfer.get(BANK)).text)
    assert f'value="{pages.desk.bank.account}"' in (await pages.asha.surfer.get(change)).text

    assert (await pages.add_account(urgentAbove="20,000,000", oneSum="yes")).to == BANK
    seen = await pages.juma.surfer.get(BANK)
    assert "TZS 20,000,000" in seen.words
    assert "Booked as one sum" in seen.words
    assert (await pages.approve(BANK)).to == BANK
    assert "at once above TZS 20,000,000" in (await pages.juma.surfer.get(BANK)).words


async def test_every_act_is_in_the_audit_log_in_words(pages: BankPages) -> None:
    await pages.with_account()
    await pages.paid()
    await pages.imported()

    async with pages.desk.database.read() as connection:
        found = {each.action for each in await audit_log.find(connection, limit=200)}
    assert {f"bank.{each}" for each in ("account_added", "file_gathered", "file_approved", "file_downloaded")} <= found
    assert "bank.statement_imported" in found
    assert (
        "Gathered settlements of TZS 100,000 into a payout file"
        in (await pages.juma.surfer.get("/operator/audit")).words
    )


def test_every_kind_of_a_line_without_a_place_has_words() -> None:
    assert set(WHY_NO_PLACE) == set(BankExceptionKind)


async def test_what_there_is_not_leads_nowhere(pages: BankPages) -> None:
    for of in (FILES, STATEMENTS, EXCEPTIONS, "/operator/settlements", "/operator/bank-accounts"):
        for id_ in ("pfl_none", "%00", "x" * 200, "'%3B--"):
            assert (await pages.asha.surfer.get(f"{of}/{id_}")).status == 404, (of, id_)


async def test_the_pages_are_in_kiswahili(pages: BankPages) -> None:
    await pages.with_account()
    for path, said in ((BANK, "Akaunti zetu za benki"), (FILES, "Faili za malipo"), (EXCEPTIONS, "Mistari ya benki")):
        seen = await pages.asha.surfer.get(path, headers={"Accept-Language": "sw"})
        assert said in seen.words
