"""AzamPay's client library beyond the scenes: its token, its checksum, its query and its names are the simulator's too."""

from collections.abc import Callable

import pytest

from tests.simulator.azampay.client import Azampay
from tests.simulator.processes import Sim
from tests.third_party_clients.conftest import Asking

NAME, PHONE = "azampay-python-sdk", "255622123345"


@pytest.fixture
async def azampay(sim: Sim) -> Azampay:
    return await Azampay(sim.http, sim.url, sim.credentials["AZAMPAY"]).open()


async def test_its_checksum_is_taken_for_a_payout_and_for_a_name(
    sim: Sim, asking: Callable[[str], Asking], azampay: Azampay
) -> None:
    """Over the text that its own documentation names: both accounts, currency, amount, time and reference."""
    payload = azampay.payload(PHONE, 1500)
    checksum = asking(NAME)("checksum", text=azampay.text_of(payload)).shown
    answer = await azampay.call("POST", f"{azampay.base}/disburse", payload | {"checksum": checksum})
    assert (answer.status, answer.body["success"]) == (200, True), answer
    assert await sim.charged(f"+{PHONE}") == [("paid", 1500)]
    checksum = asking(NAME)("checksum", text=f"Halotel{PHONE}").shown
    assert (await azampay.look_up(PHONE, checksum=checksum)).status == 200


@pytest.mark.parametrize(("digits", "word"), [("345", "paid"), ("101", "failed"), ("109", "pending")])
async def test_it_reads_what_became_of_a_payout(
    asking: Callable[[str], Asking], azampay: Azampay, digits: str, word: str
) -> None:
    network_id = (await azampay.disburse(f"255622123{digits}")).body["pgReferenceId"]
    understood = asking(NAME)("query_by_id", network_id=network_id)
    assert understood.word == word, understood
    assert asking(NAME)("query_by_id", network_id="nobodys").word == "not found"


async def test_it_reads_a_name_and_sends_no_checksum_for_it(asking: Callable[[str], Asking], azampay: Azampay) -> None:
    understood = asking(NAME)("look_up", phone=PHONE)
    assert (understood.word, understood.shown["status"]) == ("accepted", True)
    assert understood.shown["name"] == (await azampay.look_up(PHONE)).body["name"]
    assert asking(NAME)("look_up", phone="255622123101").shown["status"] is False


async def test_a_wrong_secret_is_not_let_in(sim: Sim, asking: Callable[[str], Asking]) -> None:
    keys = {"AZAMPAY": sim.credentials["AZAMPAY"] | {"clientSecret": "somebody-elses"}}
    understood = asking(NAME)("look_up", credentials=keys, phone=PHONE)
    assert (understood.word, understood.shown[:15]) == ("not let in", "AzamPayError 42")
