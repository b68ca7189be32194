"""If the merchant approves a batch while an operator adopts one of its lines, the page reports that the approval came
first."""

import asyncio
from pathlib import Path

from malipo import clock
from malipo.payments.transaction import Type
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.operator.test_operator_exceptions import PATH, _fields
from tests.payments.batches.batch_steps import BatchSteps
from tests.payments.payment_steps import PaymentSteps
from tests.reconciliation.exception_desk import ExceptionDesk
from tests.reconciliation.lost_requests import Lost
from tests.reconciliation.statement_days import Entry, Statements
from tests.reconciliation.test_adopt_batches_and_refunds import _until_wait


async def test_an_adoption_that_comes_after_the_approval_of_its_batch_is_a_sentence(
    operator_pages: OperatorPages, tmp_path: Path
) -> None:
    juma, merchant_id = await operator_pages.operator("juma"), operator_pages.merchant.id
    statements = Statements(PaymentSteps(operator_pages.service, merchant_id), tmp_path)
    batches = BatchSteps(operator_pages.service, merchant_id)
    batch = await batches.make(2)
    async with statements.database.read() as connection:
        [_, paid] = await connection.fetch("SELECT * FROM batch_items ORDER BY item_index")
    await statements.take(Entry("QK1", -paid["amount"], clock.now(), key=paid["network_key"], phone="255750***"))
    [found] = await statements.open_exceptions()
    await Lost(statements, ExceptionDesk(statements.database), Type.DISBURSEMENT).propose(found)
    page = await juma.surfer.get(f"{PATH}/{found.id}")
    async with statements.database.begin() as tx:
        await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE", merchant_id)
        approving = asyncio.ensure_future(batches.approve(batch))
        await _until_wait(statements, 1)
        adopting = asyncio.ensure_future(juma.surfer.post(f"{PATH}/approve", _fields(page)))
        await _until_wait(statements, 2)
    await approving
    refused = await adopting
    assert (refused.status, "has this key" in refused.words) == (409, True)
