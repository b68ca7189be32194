"""A statement of an unknown layout: its columns are guessed, corrected on the page, saved, and known from then on."""

import secrets
from urllib.parse import urlencode

from malipo.reconciliation.statements.choose_profile import all_profiles
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.statement_pages import an_account, import_from, send, sent

CORRECTED = {"corrected": "yes", "receipt": "1", "at": "0", "amount": "2", "direction": "3", "timeFormat": "iso"}
WORDS = {"moneyIn": "Mapato", "moneyOut": "Malipo"}


def _file(mark: str) -> bytes:
    """Column names that no layout knows; a word for the way that cannot be guessed."""
    rows = [
        f"Tarehe {mark} date,Namba {mark} txn,Kiasi {mark} amount,Aina {mark} entry",
        f"2026-11-01 10:00,K1{mark},5000,Mapato",
        f"2026-11-01 11:00,K2{mark},1200,Malipo",
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


async def test_words_of_a_status_are_explained_on_the_page_before_anything_is_imported(
    operator_pages: OperatorPages,
) -> None:
    asha, mark = await operator_pages.operator("asha"), secrets.token_hex(4)
    rows = ["Txn id,Date,Amount,Status", "K1,2026-11-01 10:00,-59.40,Ok" + mark, "K2,2026-11-01 11:00,-7,Bado" + mark]
    file = "\n".join([*rows, "K3,2026-11-01 12:00,-8,Failed"]).replace("Txn", f"Txn {mark}").encode()
    page = await sent(asha, file, account=an_account())
    guessed = await asha.surfer.get(page)
    for shown in (
        f"Ok{mark}: 1 row (2)",
        f"Bado{mark}: 1 row (3)",
        "Rows that moved no money are passed over: Failed × 1",
    ):
        assert shown in guessed.words
    columns = {"corrected": "yes", "receipt": "0", "at": "1", "amount": "2", "status": "3", "timeFormat": "iso"}
    words = {"moved": f"Ok{mark}", "notMoved": "Failed", "decimalMark": ".", "aggregator": "azampay"}
    saved = await asha.surfer.post(f"{page}/layout", columns | words | {"name": f"kampuni-{mark}"})
    assert saved.to == page
    seen = await asha.surfer.get(page)
    assert "− TZS 59.40" in seen.words
    assert f"{page}/import" not in seen.text, "one word is not explained yet"
    assert (await asha.surfer.post(f"{page}/words", {})).status == 400
    assert (await asha.surfer.post(f"{page}/words", {"word-0": "not-moved"})).to == page
    assert (await import_from(asha, page)).status == 303
    async with operator_pages.service.queries.database.read() as connection:
        profile = (await all_profiles(connection))[f"kampuni-{mark}"]
    assert (profile.carrier, len(profile.channels) > 1) == ("azampay", True)
    assert (profile.completed, profile.failed) == ((f"Ok{mark}",), ("Failed", f"Bado{mark}"))


async def test_a_file_in_which_nothing_is_read_cannot_be_saved_as_right(operator_pages: OperatorPages) -> None:
    asha, mark = await operator_pages.operator("asha"), secrets.token_hex(4)
    page = await sent(asha, f"Txn {mark} id,Date,Amount,Remarks\n".encode(), account=an_account())
    columns = {"corrected": "yes", "receipt": "0", "at": "1", "amount": "2", "timeFormat": "iso"}
    seen = await asha.surfer.get(f"{page}?{urlencode(columns)}")
    assert "Read like this, the file has no line." in seen.words
    assert "The lines are right: save it" not in seen.words
    page = await sent(asha, b"receipt,time,amount\n", account=an_account())
    seen = await asha.surfer.get(page)
    assert ("has no line" in seen.words, f"{page}/import" in seen.text) == (True, False)


async def test_the_time_of_a_file_that_does_not_say_it_is_typed_in(operator_pages: OperatorPages) -> None:
    asha, account = await operator_pages.operator("asha"), an_account()
    file = b"receipt,time,amount\nR1,2026-11-01 10:00,500\n"
    assert (await send(asha, file, account=account, begins="2026-11-01")).status == 400
    page = (await send(asha, file, account=account, begins="2026-11-01", ends="2026-11-02 06:00")).to
    assert page is not None
    assert (await import_from(asha, page)).status == 303
    async with operator_pages.service.queries.database.read() as connection:
        row = await connection.fetchrow("SELECT begins_at, ends_at FROM statement_files WHERE account = $1", account)
    assert row is not None
    assert [f"{each:%d %H:%M}" for each in row] == ["31 21:00", "02 03:00"]
