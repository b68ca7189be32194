"""/operator/floats says where a float does not cover its payouts. It counts all readings and all payouts of a network,
so the site is this test's own."""

import re

from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.own_database import database, database_url, running, service
from tests.dashboard.operator.test_operator_floats import PATH

__all__ = ["database", "database_url", "running", "service"]


async def test_a_float_that_does_not_cover_its_payouts_is_called_low(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")

    async def row(amount: str) -> str:
        await asha.surfer.post(f"{PATH}/read", {"channel": "MPESA", "account": "", "amount": amount})
        rows = re.findall("<tr>.*?</tr>", (await asha.surfer.get(PATH)).text, re.DOTALL)
        return next(str(each) for each in rows if "M-Pesa" in each)

    await operator_pages.late(amount=600)  # a payout in flight
    assert "Low" not in await row("900,000,000")
    assert "Low" in await row("0")
    assert "M-Pesa : the float is low." in (await asha.surfer.get(PATH)).words
