"""A spreadsheet is sent, looked at, fixed where it stands, and submitted once."""

import asyncio

import pytest

from malipo.payments.batches.batch import BatchStatus
from tests.dashboard.merchant.batches.batch_pages import NEW, RIGHT, Office, fix, inputs_in, office, seen_in
from tests.payments.batches.spreadsheet.golden import FILES

__all__ = ["office"]

WRONG = (
    b"Name,Phone,Network,Amount\n"
    b"Asha Juma,0754000101,M-Pesa,1000\n"
    b"Baraka Mushi,06550001,Tigo,2000\n"
    b"Celina Mrema,0682000103,Airtel,499\n"
    b"Daudi Komba,7.54E+08,M-Pesa,1500\n"
)


async def test_every_line_is_shown_with_its_sum_fee_and_what_was_repaired(office: Office) -> None:
    page = await office.clerk.get(
        await office.draft(b"Name,Phone,Amount\nAsha,754000101,1000\nBaraka,0655000102,2000\n")
    )
    assert page.status == 200
    assert "+255 754 000 101" in page.words
    assert "The first zero was lost. In the file: 754000101" in page.words
    assert "By the number: the file names none" in page.words
    assert "TZS 3,000" in page.words
    assert "TZS 300 in fees" in page.words
    assert await office.made() == [], "nothing is made yet"


async def test_an_xlsx_file_is_taken_too(office: Office) -> None:
    page = await office.clerk.get(await office.draft((FILES / "salaries.xlsx").read_bytes(), name="mishahara.xlsx"))
    assert "Celina Mrema" in page.words
    assert "mishahara.xlsx" in page.words


async def test_problems_stand_on_their_lines_and_are_mended_in_place(office: Office) -> None:
    draft = await office.draft(WRONG)
    page = await office.clerk.get(draft)
    assert "3 lines cannot be paid like this" in page.words
    assert "This is not a Tanzanian mobile number" in page.words
    assert "The least is TZS 500." in page.words
    assert "digits may be lost" in page.words
    assert "Submit it for approval" not in page.words
    assert set(inputs_in(page)) >= {"phone-3", "amount-4", "phone-5"}
    assert "phone-2" not in inputs_in(page), "lines without problems have no inputs"

    await fix(office.clerk, draft, phone__3="0655 000 102", amount__4="5,000", phone__5="")
    page = await office.clerk.get(draft)
    assert "1 line cannot be paid like this" in page.words
    assert inputs_in(page)["phone-5"] == "", "what was typed is kept, even if it is wrong"
    await fix(office.clerk, draft, phone__5="0754000104")

    seen = await office.submit(draft)
    assert seen.status == 303, seen.words
    (batch,) = await office.made()
    assert (batch.item_count, batch.amount, batch.status) == (4, 9500, BatchStatus.AWAITING_APPROVAL)
    assert batch.created_by == office.clerk_email


async def test_a_line_can_be_left_out_and_brought_back(office: Office) -> None:
    draft = await office.draft(WRONG)
    await office.clerk.post(draft, {"out-3": "yes", "out-4": "yes", "out-5": "yes"})
    page = await office.clerk.get(draft)
    assert "3 lines are left out" in page.words
    assert "Submit 1 payout" in page.words
    await office.clerk.post(draft, {"back": "4"})
    assert "1 line cannot be paid like this" in (await office.clerk.get(draft)).words


async def test_a_line_without_a_problem_can_be_changed_too(office: Office) -> None:
    draft = await office.draft()
    page = await office.clerk.get(f"{draft}?show=all&edit=2")
    assert inputs_in(page)["amount-2"] == "1000"
    await office.clerk.post(draft, inputs_in(page) | {"amount-2": "1,200", "show": "all"})
    await office.submit(draft)
    assert [each.amount for each in await office.made()] == [3200]


async def test_repeated_lines_are_submitted_only_after_somebody_has_looked(office: Office) -> None:
    draft = await office.draft(RIGHT + b"Asha Juma,0754000101,M-Pesa,1000\n")
    page = await office.clerk.get(f"{draft}?show=warnings")
    assert "The same number and amount as in row 2" in page.words
    refused = await office.submit(draft)
    assert refused.status == 409
    assert "Look at the warnings first" in refused.words
    assert await office.made() == []
    assert (await office.submit(draft, looked="yes")).status == 303
    assert [each.item_count for each in await office.made()] == [3]


async def test_a_sum_in_the_file_that_its_lines_do_not_make_is_shown(office: Office) -> None:
    draft = await office.draft(RIGHT + b"Total,,,4000\n")
    page = await office.clerk.get(draft)
    assert "its sum is TZS 4,000" in page.words
    assert (await office.submit(draft)).status == 409
    assert (await office.submit(draft, looked="yes")).status == 303


async def test_however_often_it_is_submitted_it_is_one_batch(office: Office) -> None:
    draft = await office.draft()
    answers = await asyncio.gather(*(office.submit(draft) for _ in range(5)))
    assert {each.status for each in answers} == {303}
    assert len({each.to for each in answers}) == 1
    (batch,) = await office.made()
    assert (await office.clerk.get(draft)).to == f"/dashboard/batches/{batch.id}", "the draft leads to its batch"


async def test_what_was_changed_in_another_window_is_not_submitted_unseen(office: Office) -> None:
    draft = await office.draft()
    shown = await office.clerk.get(draft)
    await office.clerk.post(draft, {"amount-2": "90000"})
    refused = await office.clerk.post(f"{draft}/submit", {"seen": seen_in(shown), "batchName": "Wages"})
    assert refused.status == 409
    assert "It has changed since you looked" in refused.words
    assert await office.made() == []


async def test_columns_that_cannot_be_found_are_asked_for(office: Office) -> None:
    draft = await office.draft(b"A,B,C,D\n1,0754000101,700,1000\n2,0655000102,800,2000\n")
    page = await office.clerk.get(draft)
    assert "Which column is the phone number, and which the amount?" in page.words
    refused = await office.clerk.post(f"{draft}/columns", {"phone": "1", "amount": "1"})
    assert refused.status == 400
    assert (await office.clerk.post(f"{draft}/columns", {"phone": "1", "amount": "3"})).status == 303
    assert (await office.submit(draft)).status == 303
    assert [each.amount for each in await office.made()] == [3000]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "Choose a file."),
        (b"%PDF-1.7", "This file cannot be read."),
        (b"phone,amount\n", "This file has no lines."),
        (b"phone,amount\n" + b"0754000101,1000\n" * 5001, "more than 5,000 lines"),
    ],
)
async def test_what_cannot_be_read_is_said(office: Office, content: bytes, sentence: str) -> None:
    seen = await office.send(content)
    assert seen.status == 400
    assert sentence in seen.words


async def test_a_file_that_is_too_large_is_refused(office: Office) -> None:
    seen = await office.send(b"phone,amount\n" + b" " * (4 * 1024 * 1024))
    assert seen.status == 413
    assert "larger than 4 MB" in seen.words


async def test_a_file_without_the_token_of_the_page_is_not_taken(office: Office) -> None:
    assert (await office.send(RIGHT, token="0" * 64)).status == 403


async def test_nobody_else_sees_a_draft(office: Office) -> None:
    draft = await office.draft()
    assert (await office.owner.get(draft)).status == 404
    assert (await office.owner.post(draft, {"amount-2": "90000"})).status == 404
    assert (await office.owner.post(f"{draft}/submit")).status == 404


async def test_a_draft_can_be_deleted(office: Office) -> None:
    draft = await office.draft()
    assert draft in (await office.clerk.get("/dashboard/batches")).text
    assert (await office.clerk.post(f"{draft}/discard")).to == "/dashboard/batches"
    assert (await office.clerk.get(draft)).status == 404


async def test_the_sample_is_a_file_that_is_read_without_a_problem(office: Office) -> None:
    sample = await office.clerk.get("/dashboard/batches/sample.csv")
    page = await office.clerk.get(await office.draft(sample.text.encode()))
    assert "Submit 4 payouts" in page.words


async def test_the_form_says_what_stands_in_a_file(office: Office) -> None:
    page = await office.clerk.get(NEW)
    assert "Download a sample" in page.words
    assert 'enctype="multipart/form-data"' in page.text


async def test_what_was_typed_stands_beside_what_the_file_has(office: Office) -> None:
    draft = await office.draft(WRONG)
    await fix(office.clerk, draft, phone__3="0655 000 102", amount__4="5,000", phone__5="0754000104")
    page = await office.clerk.get(f"{draft}?show=changed")
    assert "Typed by you 3" in page.words
    assert "+255 655 000 102 In the file: 06550001. You typed: 0655 000 102." in page.words
    assert "In the file: 499. You typed: 5,000." in page.words
    assert "In the file: 7.54E+08. You typed: 0754000104." in page.words
    assert page.words.count("You typed") == 3, "what was saved as it was proposed is what the file has"


async def test_a_network_that_was_chosen_is_not_said_to_be_by_the_number(office: Office) -> None:
    draft = await office.draft(b"Name,Phone,Amount\nAsha,0754000101,1000\n")
    assert "By the number: the file names none" in (await office.clerk.get(draft)).words
    await fix_row(office, draft, 2, channel="TIGO_PESA")
    page = await office.clerk.get(draft)
    assert "Not in the file. You typed: Tigo Pesa (Mixx by Yas)." in page.words
    assert "By the number" not in page.words


async def test_a_line_by_the_number_stays_so_when_it_is_changed(office: Office) -> None:
    draft = await office.draft(b"Name,Phone,Amount\nAsha,0684000101,1000\n")
    form = await office.clerk.get(f"{draft}?show=all&edit=2")
    assert inputs_in(form)["channel-2"] == ""
    assert "By the number: Airtel Money" in form.words
    await fix_row(office, draft, 2, phone="0754000101")
    assert (await office.submit(draft)).status == 303
    [batch] = await office.made()
    shown = await office.owner.get(f"/dashboard/batches/{batch.id}")
    assert ("M-Pesa" in shown.words, "Airtel" in shown.words) == (True, False)


async def fix_row(office: Office, draft: str, row: int, **typed: str) -> None:
    inputs = inputs_in(await office.clerk.get(f"{draft}?show=all&edit={row}"))
    await office.clerk.post(draft, inputs | {f"{name}-{row}": value for name, value in typed.items()})


@pytest.mark.parametrize(
    ("total", "words", "status"),
    [
        (3000, "its sum is TZS 3,000. TZS 1,000 of it is paid, and TZS 2,000 is left out.", 303),
        (4000, "its sum is TZS 4,000. Its lines make TZS 1,000, and those that are left out TZS 2,000.", 409),
    ],
)
async def test_the_files_own_sum_stays_visible_when_lines_are_left_out(
    office: Office, total: int, words: str, status: int
) -> None:
    draft = await office.draft(RIGHT + f"Total,,,{total}\n".encode())
    await office.clerk.post(draft, {"out-3": "yes"})
    assert words in (await office.clerk.get(draft)).words
    assert (await office.submit(draft)).status == status
