"""/operator/floats: readings are noted, transfers booked; a large one is approved by another operator."""

import re
import secrets

import pytest

from malipo.db import Database
from malipo.floats import store
from malipo.networks.connector import Channel
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import Seen

PATH = "/operator/floats"


async def _float(database: Database) -> int:
    async with database.read() as connection:
        return (await store.find_ledger_floats(connection)).get(Channel.HALOPESA, 0)


async def _transfer(operator: Operator, amount: str, reference: str, **more: str) -> Seen:
    fields = {"way": "from_bank", "channel": "HALOPESA", "account": "", "amount": amount, "reference": reference}
    return await operator.surfer.post(f"{PATH}/transfer", fields | more)


def _row(seen: Seen, reference: str) -> str:
    [row] = [each for each in re.findall("<tr>.*?</tr>", seen.text, re.DOTALL) if reference in each]
    return str(row)


def _booking(row: str) -> str:
    found = re.search(r'name="booking" value="(\w+)"', row)
    assert found
    return found[1]


async def test_a_reading_is_noted_and_moves_nothing(operator_pages: OperatorPages, database: Database) -> None:
    asha, before = await operator_pages.operator("asha"), await _float(database)
    fields = {"channel": "HALOPESA", "account": "Wakala", "amount": "1,234,567"}
    assert (await asha.surfer.post(f"{PATH}/read", fields)).to == PATH
    seen = await asha.surfer.get(PATH)
    assert "The reading is noted." in seen.words
    assert "Wakala: TZS 1,234,567" in seen.words
    assert await _float(database) == before


async def test_a_small_transfer_is_booked_once_however_often_it_is_sent(
    operator_pages: OperatorPages, database: Database
) -> None:
    asha, before = await operator_pages.operator("asha"), await _float(database)
    reference = f"NMB-{secrets.token_hex(4)}"
    for _ in range(2):
        assert (await _transfer(asha, "40,000", reference)).to == PATH
    assert await _float(database) == before + 40_000
    refused = await _transfer(asha, "40,001", reference)
    assert (refused.status, "stands for another transfer" in refused.words) == (409, True)
    assert await _float(database) == before + 40_000


async def test_a_large_transfer_waits_for_another_operator(operator_pages: OperatorPages, database: Database) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    before, reference = await _float(database), f"NMB-{secrets.token_hex(4)}"
    assert (await _transfer(asha, "2,500,000", reference)).to == PATH
    assert await _float(database) == before
    mine = _row(await asha.surfer.get(PATH), reference)
    assert ("Take it back" in mine, "approve" in mine) == (True, False)
    refused = await asha.surfer.post(f"{PATH}/approve", {"booking": _booking(mine)})
    assert (refused.status, "it takes two operators" in refused.words) == (403, True)
    row = _row(await juma.surfer.get(PATH), reference)
    assert (await juma.surfer.post(f"{PATH}/approve", {"booking": _booking(row)})).to == PATH
    assert await _float(database) == before + 2_500_000
    again = await juma.surfer.post(f"{PATH}/approve", {"booking": _booking(row)})
    assert (again.status, "It has changed since you looked." in again.words) == (409, True)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"amount": "1.5"}, "amount"),
        ({"amount": "0"}, "amount"),
        ({"channel": "BANK"}, "channel"),
        ({"reference": ""}, "reference"),
        ({"way": "sideways"}, "way"),
        ({"account": "x" * 61}, "account"),
    ],
)
async def test_mistakes_are_marked_and_nothing_is_booked(
    operator_pages: OperatorPages, database: Database, wrong: dict[str, str], field: str
) -> None:
    asha, before = await operator_pages.operator("asha"), await _float(database)
    fields = {"amount": "10", "reference": f"NMB-{secrets.token_hex(4)}"} | wrong
    refused = await _transfer(asha, fields.pop("amount"), fields.pop("reference"), **fields)
    assert (refused.status, 'class="wrong"' in refused.text) == (400, True)
    assert await _float(database) == before
