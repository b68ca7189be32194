"""A status is written on the row that was read, or nothing is committed."""

import pytest

from malipo.errors import InvariantBroken
from malipo.payments.store import status_writes
from malipo.payments.transaction import Status, Type
from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps


async def test_a_status_of_a_row_that_has_another_one_is_not_committed(steps: PaymentSteps) -> None:
    payout = await steps.open(Type.DISBURSEMENT, 500)
    other = await steps.open(Type.DISBURSEMENT, 500)

    async def write_both() -> None:
        async with steps.database.begin() as tx:
            await status_writes.update_statuses(tx, [(Status.PENDING, payout), (Status.PROCESSING, other)])

    with pytest.raises(InvariantBroken, match="a locked row changed"):
        await write_both()
