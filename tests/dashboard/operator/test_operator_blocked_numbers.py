"""/operator/numbers: an operator blocks a number for pay pages, and unblocks it; the same at the terminal."""

from tests.dashboard.business import nobody as nobody
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import Surfer
from tests.journeys.operator_commands import run_command as malipo

PATH = "/operator/numbers"


async def test_an_operator_blocks_a_number_and_unblocks_it(operator_pages: OperatorPages) -> None:
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("DELETE FROM blocked_numbers")  # of tests before this one
    asha = await operator_pages.operator("asha")
    await asha.log_in()
    surfer = asha.surfer
    assert "No number is blocked." in (await surfer.get(PATH)).words

    wrong = await surfer.post(f"{PATH}/block", {"phone": "123", "reason": ""})
    assert wrong.status == 400
    assert "not a Tanzanian mobile number" in wrong.words
    assert "Please fill this in" in wrong.words

    form = {"phone": "0754 000 987", "reason": "She called: nothing ordered"}
    done = await surfer.post(f"{PATH}/block", form)
    assert (done.status, done.to) == (303, PATH)
    seen = await surfer.get(PATH)
    for words in ("It is blocked", "+255 754 000 987", "She called: nothing ordered", asha.name):
        assert words in seen.words
    again = await surfer.post(f"{PATH}/block", form)
    assert (again.status, "This number is blocked already." in again.words) == (409, True)

    for _ in range(2):
        await surfer.get(PATH)
        assert (await surfer.post(f"{PATH}/unblock", {"phone": "+255754000987"})).status == 303
    assert "No number is blocked." in (await surfer.get(PATH)).words
    log = (await surfer.get("/operator/audit")).words
    assert log.count("Blocked +255754000987 for pay pages: She called: nothing ordered") == 1
    assert log.count("Let pay pages ask +255754000987 again") == 1


async def test_whoever_is_not_logged_in_blocks_nothing(operator_pages: OperatorPages, nobody: Surfer) -> None:
    for path in (f"{PATH}/block", f"{PATH}/unblock"):
        seen = await nobody.post(path, {"phone": "0754000986", "reason": "x"})
        assert (seen.status, seen.to) == (303, "/operator/login")
    asha = await operator_pages.operator("asha")
    await asha.log_in()
    assert "754 000 986" not in (await asha.surfer.get(PATH)).text


def test_the_command_wants_a_number_and_a_reason() -> None:
    for arguments, said in (
        (("numbers", "block", "123", "--reason", "x"), "must be a Tanzanian mobile number"),
        (("numbers", "block", "0754000100", "--reason", " "), "--reason says why"),
    ):
        done = malipo(*arguments)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
