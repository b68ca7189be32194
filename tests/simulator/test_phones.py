"""The phones as JSON: prompts that are answered, balances, and the book of what really moved."""

import asyncio
import secrets
from typing import Any

import pytest

from tests.simulator.airtel import Airtel
from tests.simulator.conftest import SPEED
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Sim

PATIENT = "+255754123100"

pytestmark = pytest.mark.usefixtures("unhurried")


async def prompts(sim: Sim, phone: str = PATIENT) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await sim("GET", f"/api/prompts?phone=%2B{phone[1:]}")
    return found


async def test_a_prompt_shows_on_the_phone_and_nowhere_else(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect(PATIENT, 1500)
    (prompt,) = await prompts(sim)
    assert prompt == {
        "id": prompt["id"],
        "channel": "MPESA",
        "phone": PATIENT,
        "amount": 1500,
        "merchant": "Demo Shop",
        "state": "waiting",
    }
    assert await prompts(sim, "+255754123999") == []


@pytest.mark.parametrize("form", ["%2B255754123100", "+255754123100", "0754123100", "255754123100"])
async def test_a_number_may_be_written_in_any_way(sim: Sim, mpesa: Mpesa, form: str) -> None:
    await mpesa.collect(PATIENT)
    assert len(await sim("GET", f"/api/prompts?phone={form}")) == 1
    assert (await sim("GET", f"/api/phones/{form}"))["phone"] == PATIENT


async def test_approving_moves_the_money(sim: Sim, mpesa: Mpesa) -> None:
    reference = secrets.token_hex(16)
    await mpesa.collect(PATIENT, 1500, input_ThirdPartyConversationID=reference)
    (prompt,) = await prompts(sim)
    answered = await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve", "pin": "1234"})
    assert answered["state"] == "approved"
    phone = await sim("GET", f"/api/phones/{PATIENT}")
    assert phone["balance"] == 998_500
    (movement,) = phone["movements"]
    assert movement.pop("at").endswith("Z")
    assert movement == {
        "kind": "charged",
        "amount": 1500,
        "channel": "MPESA",
        "reference": reference,
        "isReversal": False,
    }


async def test_declining_moves_nothing(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect(PATIENT)
    (prompt,) = await prompts(sim)
    assert (await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "decline"}))["state"] == "declined"
    assert await sim("GET", f"/api/phones/{PATIENT}") == {"phone": PATIENT, "balance": 1_000_000, "movements": []}


async def test_a_prompt_expires_by_itself(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=SPEED)
    await mpesa.collect(PATIENT)
    await asyncio.sleep(122 / SPEED)
    (prompt,) = await prompts(sim)
    assert prompt["state"] == "expired"
    refused = await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve"}, status=409)
    assert refused == {"error": "The prompt is already expired."}


async def test_a_prompt_is_answered_once(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect(PATIENT)
    (prompt,) = await prompts(sim)
    answers = await asyncio.gather(
        *(sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve"}, status=None) for _ in range(5))
    )
    assert sorted("error" in each for each in answers) == [False, True, True, True, True]
    assert await sim.charged(PATIENT) == [("charged", 1000)]


async def test_a_person_may_answer_before_the_phone_does(sim: Sim, mpesa: Mpesa) -> None:
    for digits, action, state in (("456", "decline", "declined"), ("101", "approve", "approved")):
        phone = f"+255754123{digits}"
        await mpesa.collect(phone)
        (prompt,) = await prompts(sim, phone)
        assert prompt["state"] == "waiting"
        assert (await sim("POST", f"/api/prompts/{prompt['id']}", {"action": action}))["state"] == state
    assert await sim.charged("+255754123456") == []
    assert await sim.charged("+255754123101") == [("charged", 1000)]


async def test_nobody_pays_more_than_they_have(sim: Sim, mpesa: Mpesa, airtel: Airtel) -> None:
    reference = secrets.token_hex(16)
    await airtel.collect(PATIENT, 600_000)
    await mpesa.collect(PATIENT, 600_000, input_ThirdPartyConversationID=reference)
    for prompt in reversed(await prompts(sim)):
        await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve"})
    assert [each["state"] for each in await prompts(sim)] == ["approved", "approved"]
    assert await sim.charged(PATIENT) == [("charged", 600_000)]
    assert await mpesa.status(reference) == "Failed"
    found = await sim("GET", f"/api/transactions/MPESA/{reference}")
    assert (found["state"], found["outcome"], found["receipt"]) == ("failed", "balance too low", None)


async def test_the_newest_prompt_comes_first(sim: Sim, mpesa: Mpesa) -> None:
    for amount in (1000, 2000, 3000):
        await mpesa.collect(PATIENT, amount)
    assert [each["amount"] for each in await prompts(sim)] == [3000, 2000, 1000]
    assert [each["amount"] for each in await sim("GET", "/api/prompts?limit=2")] == [3000, 2000]


async def test_the_book_holds_everything_that_moved(sim: Sim, mpesa: Mpesa, airtel: Airtel) -> None:
    await sim.control(speed=SPEED)
    await mpesa.disburse("+255754123456", 5000)
    await airtel.disburse("+255684123456", 700, "salary")
    await airtel.disburse("+255684123101", 900)
    await mpesa.collect("+255754123456", 2000)
    await asyncio.sleep(4 / SPEED)
    book = await sim("GET", "/api/book")
    assert [(each["phone"], each["kind"], each["amount"]) for each in book["movements"]] == [
        ("+255754123456", "paid", 5000),
        ("+255684123456", "paid", 700),
        ("+255754123456", "charged", 2000),
    ]
    assert (book["charged"], book["paid"]) == (2000, 5700)
    only = await sim("GET", "/api/book?channel=AIRTEL_MONEY")
    assert [each["reference"] for each in only["movements"]] == ["salary"]
    assert (only["charged"], only["paid"]) == (0, 700)
    assert (await sim("GET", "/api/phones/0754123456"))["balance"] == 1_003_000


MISTAKES: list[tuple[str, str, Any, int]] = [
    ("GET", "/api/prompts?phone=12", None, 400),
    ("GET", "/api/prompts?limit=none", None, 400),
    ("GET", "/api/phones/abc", None, 400),
    ("GET", "/api/phones/+254712345678", None, 400),
    ("POST", "/api/prompts/nothing", {"action": "approve"}, 404),
    ("POST", "/api/prompts/nothing", {"action": "eat"}, 400),
    ("POST", "/api/prompts/nothing", {"action": "approve", "pin": "12"}, 400),
    ("POST", "/api/prompts/nothing", ["approve"], 400),
    ("GET", "/api/transactions/MPESA/nothing", None, 404),
    ("GET", "/api/seen?limit=0", None, 400),
    ("GET", "/api/seen?phone=x", None, 400),
    ("GET", "/api/nothing", None, 404),
    ("DELETE", "/api/book", None, 405),
    ("PUT", "/api/callbacks", {"MPESA": "ftp://x", "NOBODY": "http://x"}, 400),
    ("PUT", "/api/callbacks", {"MPESA": 5}, 400),
    ("PUT", "/api/callbacks", {"MPESA": "http://"}, 400),
    ("PUT", "/api/callbacks", [], 400),
]


async def test_a_mistake_is_shown_as_an_error(sim: Sim) -> None:
    for method, path, body, status in MISTAKES:
        answer = await sim(method, path, body, status=status)
        assert list(answer) == ["error"]
        assert answer["error"]


async def test_a_disbursement_is_no_prompt(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.disburse("+255754123100")
    assert await sim("GET", "/api/prompts") == []


async def test_reset_forgets_everything_but_the_credentials(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=SPEED)
    await mpesa.collect(PATIENT)
    await mpesa.disburse("+255754123456")
    await sim("PUT", "/api/callbacks", {"MPESA": "http://127.0.0.1:1/"})
    await sim.control(speed=7, channels={"MPESA": {"isDown": True}})
    before = await sim("GET", "/api/credentials")

    await sim("POST", "/api/reset")

    assert await sim("GET", "/api/credentials") == before
    assert await sim("GET", "/api/prompts") == []
    assert (await sim("GET", "/api/book"))["movements"] == []
    assert set((await sim("GET", "/api/callbacks")).values()) == {None}
    assert (await sim("GET", "/api/control"))["speed"] == SPEED
    assert (await sim("GET", "/api/control"))["channels"]["MPESA"]["isDown"] is False
    assert await sim("GET", "/api/seen") == []
    assert await mpesa.status("nothing") == "INS-23"
    await asyncio.sleep(122 / SPEED)
    assert await sim("GET", f"/api/phones/{PATIENT}") == {"phone": PATIENT, "balance": 1_000_000, "movements": []}


async def test_a_statement_is_downloaded_for_a_day(sim: Sim) -> None:
    async with sim.http.get(f"{sim.url}/api/statements/MPESA?day=2026-11-15") as answer:
        assert (answer.status, answer.content_type) == (200, "text/csv")
        assert "MPESA-2026-11-15.csv" in answer.headers["Content-Disposition"]
        assert (await answer.text()).startswith("Account Holder,")


@pytest.mark.parametrize(
    ("path", "status", "result"),
    [
        ("VISA?day=2026-11-15", 404, "VISA"),
        ("MPESA", 400, "day must be a date"),
        ("MPESA?day=15-11-2026", 400, "day must be a date"),
        ("MPESA?day=2026-11-15&with=magic,gap", 400, "magic"),
    ],
)
async def test_a_mistake_in_asking_for_a_statement_is_shown(sim: Sim, path: str, status: int, result: str) -> None:
    async with sim.http.get(f"{sim.url}/api/statements/{path}") as answer:
        assert answer.status == status
        assert result in (await answer.json())["error"]
