"""A statement of an unknown layout: its columns are guessed, corrected on the page, saved, and known from then on."""

import secrets
from urllib.parse import urlencode

from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.statement_pages import an_account, import_from, sent

CORRECTED = {"corrected": "yes", "receipt": "1", "at": "0", "amount": "2", "direction": "3", "timeFormat": "iso"}
WORDS = {"moneyIn": "Mapato", "moneyOut": "Malipo"}


def _file(mark: str) -> bytes:
    """Column names that no layout knows; a word for the way that cannot be guessed."""
    rows = [
        f"Tarehe {mark} date,Namba {mark} txn,Kiasi {mark} amount,Aina {mark} entry",
        "2026-11-01 10:00,K1,5000,Mapato",
        "2026-11-01 11:00,K2,1200,Malipo",
    ]
    return "\n".join(rows).encode()


async def test_columns_are_corrected_saved_and_known_from_then_on(operator_pages: OperatorPages) -> None:
    asha, mark = await operator_pages.operator("asha"), secrets.token_hex(4)
    page = await sent(asha, _file(mark), account=an_account())
    guessed = await asha.surfer.get(page)
    assert "No layout knows the columns of this file." in guessed.words
    assert f"{page}/import" not in guessed.text

    halfway = await asha.surfer.get(f"{page}?{urlencode(CORRECTED)}")
    assert "Say which words stand for money that came in" in halfway.words
    assert f"{page}/layout" not in halfway.text, "what cannot be read cannot be saved"
    read = await asha.surfer.get(f"{page}?{urlencode(CORRECTED | WORDS)}")
    for shown in ("K1", "+ TZS 5,000", "K2", "− TZS 1,200"):
        assert shown in read.words

    layout = f"duka-{mark}"
    saved = await asha.surfer.post(f"{page}/layout", CORRECTED | WORDS | {"name": layout})
    assert saved.to == page
    assert layout in (await asha.surfer.get(page)).words
    assert (await import_from(asha, page)).status == 303
    again = await asha.surfer.get(await sent(asha, _file(mark), account=an_account()))
    assert layout in again.words, "the next file is read without a question"


async def test_a_layout_gets_a_name_of_its_own(operator_pages: OperatorPages) -> None:
    asha, mark = await operator_pages.operator("asha"), secrets.token_hex(4)
    page = await sent(asha, _file(mark), account=an_account())
    for name in ("", "generic", "a b", "-", "x" * 41):
        refused = await asha.surfer.post(f"{page}/layout", CORRECTED | WORDS | {"name": name})
        assert (refused.status, 'id="field-name-wrong"' in refused.text) == (400, True), name


async def test_columns_that_cannot_be_are_as_good_as_none(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    page = await sent(asha, _file(secrets.token_hex(4)), account=an_account())
    for wrong in ({"receipt": "99"}, {"receipt": "x"}, {"timeFormat": "%Z%Z"}, {"amount": ""}):
        seen = await asha.surfer.get(f"{page}?{urlencode(CORRECTED | WORDS | wrong)}")
        assert (seen.status, 'class="wrong"' in seen.text) == (200, True), wrong
