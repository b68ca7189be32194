"""/operator/statements: upload, preview and import of a file; a file that does not add up is reported in shillings."""

import io

import pytest
from openpyxl import Workbook

from malipo.dashboard.operator.reconciliation import receive_file
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel
from tests.conftest import Running
from tests.dashboard.operator.operator_pages import OperatorPages, seen_on
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.statement_pages import NEW, an_account, generic, import_from, send, sent

PATH = "/operator/statements"


def _kept(running: Running) -> set[str]:
    """What lies in the data folder of the process."""
    folder = running.log.parent / "var" / "uploads"
    return {each.name for each in folder.iterdir()} if folder.is_dir() else set()


async def test_a_statement_is_sent_looked_at_and_imported(operator_pages: OperatorPages) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    page = await sent(asha, generic([("R1", 5000), ("R2", -1200)], opening=100), account=account)
    seen = await asha.surfer.get(page)
    for shown in ("taarifa.csv", account, "generic", "TZS 100", "TZS 3,900", "R1", "R2", "TZS 5,000", "TZS 1,200"):
        assert shown in seen.words
    assert account not in (await asha.surfer.get(PATH)).words, "nothing is imported yet"

    done = await import_from(asha, page)
    assert done.to.startswith(f"{PATH}/stf_")
    file = await asha.surfer.get(done.to)
    for shown in ("The statement is imported.", account, "TZS 3,900", "1 Nov 2026, 00:00:00", "R1", asha.name):
        assert shown in file.words
    for result in ("Lines matched with payments: 0.", "Exceptions: 2"):
        assert result in file.words, "what the command says"
    assert '2 <a href="/operator/exceptions?kind=theirs_only">' in file.text
    listed = await asha.surfer.get(f"{PATH}?channel=TIGO_PESA")
    assert account in listed.words
    assert "Adds up" in listed.words
    assert account not in (await asha.surfer.get(f"{PATH}?channel=MPESA")).words
    assert (await asha.surfer.get(page)).status == 404, "the file is not kept longer than it is needed"


async def test_a_file_of_which_nothing_is_known_is_imported_only_with_the_tick(operator_pages: OperatorPages) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    page = await sent(asha, generic([("R1", 5000)], opening=77), account=account)
    assert 'name="new_account"' not in (await asha.surfer.get(page)).text
    refused = await import_from(asha, page, new_account="")
    assert (refused.status, "Nothing in this file is known here" in refused.words) == (400, True)
    assert 'name="new_account"' in refused.text
    assert (await import_from(asha, page)).to.startswith(f"{PATH}/stf_")
    # The same content in another account, and one that contradicts it.
    for amount, channel in ((5001, "TIGO_PESA"), (5000, "MPESA")):
        content = generic([("R1", amount)], opening=77)
        shown = await import_from(asha, await sent(asha, content, account=account, channel=channel))
        assert (shown.status, "Nothing was imported." in shown.words) == (409, True)
        assert "Go to the other import" in shown.words
        assert "malipo statements" not in shown.words, "a page names no command"
        assert "Import it" not in shown.words, "the same button would be refused again"


async def test_an_import_is_withdrawn_by_two_operators(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    content = generic([("R1", 5000), ("R2", -20)]).replace(b"balance\nR", b"balance,details\nR")
    page = await sent(asha, content.replace(b"-20,4980", b"-20,4980,Fee"), account=an_account())
    file = (await import_from(asha, page)).to
    changes = (
        f"Float at {PROFILES[Channel.TIGO_PESA].name}",
        "Charged by networks",
        "Matches that are undone: 0.",
        "that stay as they are: 0.",
    )
    seen = await asha.surfer.get(file)
    assert [seen.words.count(each) for each in changes] == [2, 2, 1, 1], "of the import, and of its booking"
    short = await asha.surfer.post(f"{file}/propose", {"reason": "wrong"})
    assert (short.status, "10 to 1,000 characters" in short.words) == (400, True)
    assert (await asha.surfer.post(f"{file}/propose", {"reason": "It is another till's"})).status == 303
    seen = await asha.surfer.get(file)
    assert "Take it back" in seen.words
    proposed = (await juma.surfer.get(file)).words.split("Proposed: withdraw this import")[1].split("Approve")[0]
    assert [proposed.count(each) for each in changes] == [1, 1, 1, 1], "the approver sees the same"
    assert proposed.count("TZS 20") >= 2
    assert "Proposed" in (await juma.surfer.get(PATH)).words
    proposal = seen.text.split('name="proposal" value="')[1].split('"')[0]
    assert (await asha.surfer.post(f"{file}/approve", {"proposal": proposal})).status == 403
    assert (await juma.surfer.post(f"{file}/approve", {"proposal": "stp_other"})).status == 409
    assert (await juma.surfer.post(f"{file}/approve", {"proposal": proposal, "seen": "aaaaaaaaaa"})).status == 409
    code = seen_on(await juma.surfer.get(file))
    assert (await juma.surfer.post(f"{file}/approve", {"proposal": proposal, "seen": code})).status == 303
    done = await juma.surfer.get(file)
    for shown in ("This import was withdrawn.", "It is another till's", "Its lines were withdrawn."):
        assert shown in done.words
    assert "Withdrawn" in (await juma.surfer.get(PATH)).words
    log = await juma.surfer.get("/operator/audit")
    assert "Withdrew the statement taarifa.csv: It is another till's" in log.words


async def test_the_same_file_again_does_nothing_and_says_so(operator_pages: OperatorPages) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    first = await import_from(asha, await sent(asha, generic([("R1", 5000)]), account=account))
    again = await import_from(asha, await sent(asha, generic([("R1", 5000)]), account=account))
    assert again.to == first.to
    assert "This file was imported before. Nothing was done." in (await asha.surfer.get(again.to)).words


async def test_a_file_that_does_not_add_up_is_refused_in_shillings_and_imported_only_with_the_tick(
    operator_pages: OperatorPages,
) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    page = await sent(asha, generic([("R1", 5000)], opening=100, closing=9100), account=account)
    assert 'name="accept"' not in (await asha.surfer.get(page)).text, "nobody accepts what was not told"
    refused = await import_from(asha, page)
    assert refused.status == 400
    assert "The heading closes with 9,100, the lines with 5,100." in refused.words
    assert 'name="accept"' in refused.text
    assert (await import_from(asha, page)).status == 400, "without the tick it stays refused"
    done = await import_from(asha, page, accept="yes")
    file = await asha.surfer.get(done.to)
    assert "The heading closes with 9,100, the lines with 5,100." in file.words
    assert "Does not add up" in (await asha.surfer.get(PATH)).words


async def test_a_gap_between_two_files_is_shown_where_it_lies(operator_pages: OperatorPages) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    await import_from(asha, await sent(asha, generic([("R1", 5000)]), account=account))
    later = generic([("R9", 10)], opening=7500, first=24)
    done = await import_from(asha, await sent(asha, later, account=account))
    assert done.status == 303
    assert "in which the balance changed by +2,500." in (await asha.surfer.get(f"{PATH}?channel=TIGO_PESA")).words
    await asha.surfer.post("/operator/language", {"language": "sw", "next": PATH})
    assert "salio lilibadilika kwa +2,500" in (await asha.surfer.get(PATH)).words


async def test_an_xlsx_file_is_read_too(operator_pages: OperatorPages) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    book = Workbook()
    assert book.active is not None
    for row in (["receipt", "time", "amount", "balance"], [f"X1-{account}", "2026-11-01 10:00", 700, 700]):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    page = await sent(asha, file.getvalue(), account=account, name="taarifa.xlsx")
    assert "X1" in (await asha.surfer.get(page)).words
    assert (await import_from(asha, page)).status == 303


async def test_lines_that_cannot_be_read_are_named_by_their_row(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    page = await sent(asha, b"receipt,time,amount\nR1,2026-11-01 10:00,12.505\n", account=an_account())
    refused = await import_from(asha, page)
    assert (refused.status, "Row 2: " in refused.words) == (400, True)
    assert 'name="accept"' not in refused.text, "there is nothing to accept"


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7 nothing", b"only,some,words\nand,no,header\n"], ids=["PDF", "no header"]
)
async def test_a_file_that_is_no_statement_is_said_to_be_none(operator_pages: OperatorPages, content: bytes) -> None:
    asha = await operator_pages.operator("asha")
    page = await sent(asha, content)
    seen = await asha.surfer.get(page)
    assert (seen.status, 'class="notice bad"' in seen.text, f"{page}/import" in seen.text) == (200, True, False)
    assert (await import_from(asha, page)).status == 400


async def test_a_large_file_is_refused_with_the_way_out(operator_pages: OperatorPages, running: Running) -> None:
    asha = await operator_pages.operator("asha")
    before = _kept(running)
    most = receive_file.MOST_MEGABYTES * 1024 * 1024
    refused = await send(asha, b"x" * (most + 1))
    assert (refused.status, "malipo statements import" in refused.words) == (413, True)
    assert _kept(running) <= before  # Older ones may have been removed meanwhile.
    assert (await send(asha, b"receipt,time,amount\n" + b"\n" * (most - 100))).status == 303, "just below it is taken"


async def test_fields_that_are_wrong_are_marked_and_nothing_is_kept(
    operator_pages: OperatorPages, running: Running
) -> None:
    asha = await operator_pages.operator("asha")
    before = _kept(running)
    for refused in (
        await send(asha, generic([("R1", 1)]), channel="VODAFONE"),
        await send(asha, b""),
        await send(asha, generic([("R1", 1)]), account="x" * 61),
    ):
        assert (refused.status, 'class="wrong"' in refused.text) == (400, True)
    assert _kept(running) <= before  # Older ones may have been removed meanwhile.


async def test_forged_forms_keep_nothing(operator_pages: OperatorPages, running: Running) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    before = _kept(running)
    for token in ("", juma.surfer.token):
        assert (await send(asha, generic([("R1", 1)]), token=token)).status == 403
    assert _kept(running) <= before  # Older ones may have been removed meanwhile.


async def test_nobody_imports_what_another_has_sent(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    page = await sent(asha, generic([("R1", 1)]), account=an_account())
    assert (await juma.surfer.get(page)).status == 404
    assert (await import_from(juma, page)).status == 404
    for name in ("upl_00000000000000000000000000", "..", "upl_/../x"):
        assert (await asha.surfer.get(f"{NEW}/{name}")).status in (400, 404)


@pytest.mark.parametrize("name", ["../../etc/passwd", "about.json", ".hidden", "C:\\taarifa.csv", ""])
async def test_the_name_of_a_file_leads_nowhere_else(operator_pages: OperatorPages, name: str) -> None:
    asha = await operator_pages.operator("asha")
    page = await sent(asha, generic([("R1", 1)]), account=an_account(), name=name)
    assert (await import_from(asha, page)).status == 303


@pytest.mark.parametrize("name", ["😀" * 90 + ".csv", "😀" * 400, "é" * 300 + ".csv", "\u202e" * 90], ids=range(4))
async def test_a_long_name_in_any_alphabet_is_cut_and_kept(operator_pages: OperatorPages, name: str) -> None:
    asha = await operator_pages.operator("asha")
    page = await sent(asha, generic([("R1", 5000)]), account=an_account(), name=name)
    seen = await asha.surfer.get(page)
    assert seen.status == 200
    if name.endswith(".csv"):
        assert name[-30:] in seen.words
