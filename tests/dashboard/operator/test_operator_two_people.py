"""On the pages one operator alone makes no money."""

from malipo.payments.transaction import Status
from tests.dashboard.operator.operator_pages import COLLECTION, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.test_operator_reauthentication import asks, later


async def test_three_collections_of_nine_million_are_completed_by_two_operators_only(
    operator_pages: OperatorPages,
) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payments = [await operator_pages.late(COLLECTION, 9_000_000) for _ in range(3)]
    before = await operator_pages.available()
    for payment in payments:
        await asha.propose(payment, "completed")
        assert (await asha.approve(payment)).status == 403
    assert [await operator_pages.status(each) for each in payments] == [Status.PROCESSING] * 3
    assert await operator_pages.available() == before
    assert (await juma.approve(payments[0])).status == 303
    assert await operator_pages.status(payments[0]) is Status.COMPLETED


async def test_a_session_without_a_recent_confirmation_proposes_nothing(operator_pages: OperatorPages) -> None:
    asha, payment = await operator_pages.operator("asha"), await operator_pages.late(COLLECTION, 9_000)
    await later(operator_pages, asha, "11 minutes")
    seen = await asha.propose(payment, "completed")
    assert (seen.status, asks(seen)) == (403, True)
    assert await operator_pages.status(payment) is Status.PROCESSING
