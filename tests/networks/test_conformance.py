"""The contract kit: every connector passes it against the simulator, and what is broken does not."""

import asyncio
from collections.abc import Iterator

import pytest

from malipo.cli import simulator_setup
from malipo.networks import conformance
from malipo.networks.conformance import ConformanceCheck
from malipo.networks.connector import Answer, Connector, PaymentInstruction, Type, Verdict
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import connect
from malipo.settings.environment import read
from tests.journeys.operator_commands import malipo
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator

PHONE = "+255754000001"


@pytest.fixture(scope="module")
def simulator() -> Iterator[Process]:
    process = start_simulator("--speed", "20")
    yield process
    process.stop()


@pytest.fixture(scope="module")
def variables(simulator: Process) -> dict[str, str]:
    return simulator_setup.environment(simulator.url, asyncio.run(simulator_setup.credentials(simulator.url)))


async def _checks(connector: Connector, types: list[Type]) -> list[ConformanceCheck]:
    found = conformance.verify(connector, types, phone=PHONE, amount=1000, patience_seconds=10)
    return [check async for check in found]


@pytest.mark.parametrize("name", ["mpesa", "airtel_money", "tigo_pesa", "halopesa", "clickpesa", "azampay"])
async def test_every_connector_passes(variables: dict[str, str], name: str) -> None:
    async with HttpClient.opened() as http_client:
        connector = connect(read(variables), http_client).connectors[name]
        types = {"halopesa": [Type.COLLECTION], "azampay": [Type.DISBURSEMENT]}.get(name, list(Type))
        checks = await _checks(connector, types)
    assert [check for check in checks if not check.is_good] == []
    assert len(checks) >= 1 + 2 * len(types)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("mpesa", "MALIPO_MPESA_API_KEY"),
        ("airtel_money", "MALIPO_AIRTEL_MONEY_CLIENT_SECRET"),
        ("tigo_pesa", "MALIPO_TIGO_PESA_PASSWORD"),
        ("clickpesa", "MALIPO_CLICKPESA_API_KEY"),
        ("azampay", "MALIPO_AZAMPAY_CLIENT_SECRET"),
    ],
)
async def test_whoever_is_not_let_in_is_told_so_and_moves_nothing(
    variables: dict[str, str], name: str, setting: str
) -> None:
    async with HttpClient.opened() as http_client:
        connector = connect(read(variables | {setting: "wrong"}), http_client).connectors[name]
        [check] = await _checks(connector, list(Type))
    assert (check.what, check.is_good) == ("it lets us in", False)


class Forgetful:
    """A network that says of everything that it is done, and means it every time."""

    name, timeout_seconds, concurrency = "forgetful", 5.0, 1

    def __init__(self, real: Connector) -> None:
        self._real = real
        self._receipts = 0
        self.resubmit, self.can_query, self.probe = real.resubmit, real.can_query, real.probe
        self.read, self.acknowledge = real.read, real.acknowledge

    async def send(self, order: PaymentInstruction) -> Answer:
        self._receipts += 1
        return Answer(verdict=Verdict.CONFIRMED, provider_reference=f"R{self._receipts}")

    async def query(self, order: PaymentInstruction) -> Answer:
        return Answer(verdict=Verdict.CONFIRMED, provider_reference="R0")


async def test_a_network_that_pays_twice_and_confirms_strangers_does_not_pass(variables: dict[str, str]) -> None:
    async with HttpClient.opened() as http_client:
        checks = await _checks(
            Forgetful(connect(read(variables), http_client).connectors["mpesa"]), [Type.DISBURSEMENT]
        )
    assert [check.what for check in checks if not check.is_good] == [
        "disbursement: of a payment that was never made it says nothing",
        "disbursement: sent again with the same key, it is not done again",
    ]


async def test_the_command_reports_each_check_and_says_by_its_exit_code_whether_all_is_well(
    variables: dict[str, str], database_url: str
) -> None:
    settings = {name.removeprefix("MALIPO_").lower(): value for name, value in variables.items()}
    good = await malipo("networks", "verify", "airtel_money", "--sandbox", "--phone", PHONE, **settings)
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("ok    it lets us in  (")
    bad = await malipo(
        "networks", "verify", "airtel_money", "--sandbox", "--phone", PHONE, **settings | {"airtel_money_pin": "0000"}
    )
    assert bad.code == 1
    assert "FAIL  disbursement: it takes one of TZS 1,000" in bad.out
    for wrong in (
        ["networks", "verify", "airtel_money", "--phone", PHONE],  # nobody has said that this is a sandbox
        ["networks", "verify", "nobody", "--sandbox", "--phone", PHONE],
        ["networks", "verify", "mpesa", "--sandbox", "--phone", "0754"],
        ["networks", "verify", "mpesa", "--sandbox", "--phone", PHONE, "--amount", "1000000"],
    ):
        assert (await malipo(*wrong, **settings)).code == 2

    listed = (await malipo("networks", "list", "--json", database_url=database_url, **settings)).json
    assert {(each["channel"], each["type"]): each["carried by"] for each in listed} == {
        ("MPESA", "COLLECTION"): "mpesa",
        ("MPESA", "DISBURSEMENT"): "mpesa",
        ("TIGO_PESA", "COLLECTION"): "tigo_pesa",
        ("TIGO_PESA", "DISBURSEMENT"): "tigo_pesa",
        ("AIRTEL_MONEY", "COLLECTION"): "airtel_money",
        ("AIRTEL_MONEY", "DISBURSEMENT"): "airtel_money",
        ("HALOPESA", "COLLECTION"): "halopesa",
        ("HALOPESA", "DISBURSEMENT"): "clickpesa",
    }
    moved = {"route_mpesa_collection": "clickpesa", "route_halopesa_disbursement": "mpesa"}
    refused = await malipo("networks", "list", database_url=database_url, **settings | moved)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "MALIPO_ROUTE_HALOPESA_DISBURSEMENT names mpesa, which cannot carry that" in refused.err
