"""Whose number it is, at the simulator's networks: the same name everywhere and always, but for a few numbers."""

import secrets
from typing import Any

import pytest

from malipo_simulator.subscriber_names import BARRED_DIGITS, NAMELESS_DIGITS, subscriber_of
from tests.simulator.airtel import Airtel
from tests.simulator.airtel import Answer as AirtelAnswer
from tests.simulator.clickpesa import Answer, Clickpesa
from tests.simulator.processes import Sim

PREVIEW = "/payouts/preview-mobile-money-payout"


async def _user(airtel: Airtel, number: str, **more: Any) -> AirtelAnswer:
    return await airtel.call("GET", f"/standard/v1/users/{number}", **more)


async def _preview(clickpesa: Clickpesa, phone: str) -> Answer:
    return await clickpesa.send(PREVIEW, clickpesa.payload(phone, 1000, secrets.token_hex(8)))


def test_a_number_always_has_the_same_name_and_many_have_another() -> None:
    names = {subscriber_of(f"+2556841{n:05}").name for n in range(1000)}
    assert len(names) > 200
    assert all(len(name.split()) == 3 and name.isupper() for name in names - {""})
    assert subscriber_of("+255684123456") == subscriber_of("+255684123456")


async def test_airtel_names_a_user(airtel: Airtel) -> None:
    answer = await _user(airtel, "684123456")
    assert (answer.status, answer.code) == (200, "DP02200000001")
    data, subscriber = answer.body["data"], subscriber_of("+255684123456")
    assert (data["first_name"], data["last_name"]) == (subscriber.first_name, subscriber.last_name)
    assert (data["msisdn"], data["is_barred"], data["is_pin_set"]) == ("684123456", False, True)


@pytest.mark.parametrize(
    ("number", "status", "code"),
    [
        ("684123101", 404, "DP02200000002"),
        ("255684123456", 400, "DP02200000000"),
        ("984123456", 400, "DP02200000000"),
    ],
)
async def test_airtel_refuses_what_it_does_not_know(airtel: Airtel, number: str, status: int, code: str) -> None:
    answer = await _user(airtel, number)
    assert (answer.status, answer.code) == (status, code)


async def test_airtel_wants_a_token_and_its_headers(airtel: Airtel) -> None:
    assert (await _user(airtel, "684123456", headers={"X-Country": ""})).status == 400
    airtel.token = "x"
    assert (await _user(airtel, "684123456")).status == 401


async def test_some_are_barred_some_have_no_name_and_some_are_a_fault(airtel: Airtel, clickpesa: Clickpesa) -> None:
    barred = await _user(airtel, f"684123{BARRED_DIGITS}")
    assert (barred.body["data"]["is_barred"], barred.body["data"]["first_name"] != "") == (True, True)
    nameless = await _user(airtel, f"684123{NAMELESS_DIGITS}")
    assert (nameless.body["data"]["first_name"], nameless.body["data"]["last_name"]) == ("", "")
    assert (await _user(airtel, "684123108")).status == 500
    assert (await _preview(clickpesa, f"+255684123{NAMELESS_DIGITS}")).body["receiver"]["accountName"] == ""
    assert (await _preview(clickpesa, "+255684123108")).status == 500


@pytest.mark.parametrize("phone", ["+255754123456", "+255684123456", "+255714123456", "+255621123456"])
async def test_clickpesa_names_the_receiver_before_and_after(clickpesa: Clickpesa, phone: str, sim: Sim) -> None:
    preview = await _preview(clickpesa, phone)
    assert preview.body["receiver"]["accountName"] == subscriber_of(phone).name
    assert (await sim("GET", "/api/book"))["movements"] == [], "a preview pays nothing"
    paid = await clickpesa.disburse(phone)
    assert paid.body["beneficiary"]["accountName"] == subscriber_of(phone).name


async def test_clickpesa_refuses_a_preview_to_nobody(clickpesa: Clickpesa) -> None:
    answer = await _preview(clickpesa, "+255621123101")
    assert (answer.status, answer.body) == (400, {"message": "Receiver account is not registered"})


async def test_a_switch_that_fails_queries_fails_look_ups_too(airtel: Airtel, sim: Sim) -> None:
    await sim.control(channels={"AIRTEL_MONEY": {"queryError": "ESB000014"}})
    assert (await _user(airtel, "684123456")).code == "ESB000014"
    await sim.control(channels={"AIRTEL_MONEY": {"wrongQueryCredentials": True}})
    assert (await _user(airtel, "684123456")).status == 403
