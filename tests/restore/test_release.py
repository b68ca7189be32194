"""A restored installation sends again when two operators have looked, or the only one."""

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.errors import Conflict, Forbidden, Invalid, Missing
from malipo.payments.after_restore import release
from tests.operators.booking_steps import give_password, hire
from tests.payments.payment_steps import PaymentSteps
from tests.restore.operators import ASHA, EVIDENCE, JUMA, fence, let_go
from tests.restore.operators import steps as steps


async def test_it_takes_two_operators_or_the_only_one(steps: PaymentSteps) -> None:
    await fence(steps)
    assert not await let_go(steps, ASHA)
    with pytest.raises(Forbidden, match="operators_same"):
        await let_go(steps, ASHA)
    async with steps.database.begin() as tx:
        for name in ("asha", "juma"):
            await tx.execute("INSERT INTO operators (id, name, created_at) VALUES ($1, $2, now())", f"opr_{name}", name)
    with pytest.raises(Forbidden, match="operators_not_alone"):
        await let_go(steps, ASHA, is_single_operator=True)
    assert await let_go(steps, JUMA)
    with pytest.raises(Conflict, match="release_not_fenced"):
        await let_go(steps, ASHA)


@pytest.mark.parametrize("evidence", ["", "looked", "x" * 1001, "I have\nlooked at all"])
async def test_a_release_says_what_was_looked_at(steps: PaymentSteps, evidence: str) -> None:
    await fence(steps)
    async with steps.database.begin() as tx:
        with pytest.raises(Invalid, match="release_evidence"):
            await release.release(tx, evidence, actor=ASHA, now=clock.now())


@pytest.mark.parametrize("scope", [None, ("MPESA", "DISBURSEMENT")], ids=["the whole", "a channel"])
async def test_an_operator_whose_password_another_has_set_is_no_second_operator(
    steps: PaymentSteps, scope: release.Scope
) -> None:
    await hire(steps.database, "asha", "juma")
    await fence(steps)
    await give_password(steps.database, "juma", by=ASHA)
    await let_go(steps, ASHA, scope=scope)
    with pytest.raises(Forbidden, match="operators_not_vouched_for"):
        await let_go(steps, JUMA, scope=scope)
    with pytest.raises(Forbidden, match="operators_not_alone"):
        await let_go(steps, ASHA, scope=scope, is_single_operator=True)


async def test_where_there_is_one_operator_that_one_releases_alone_and_it_is_kept(steps: PaymentSteps) -> None:
    await fence(steps)
    assert await let_go(steps, ASHA, is_single_operator=True)
    async with steps.database.read() as connection:
        assert await connection.fetchval("SELECT is_single_operator FROM proposals")


@pytest.mark.parametrize("rejects", [ASHA, JUMA], ids=["whoever proposed it", "another"])
@pytest.mark.parametrize("scope", [None, ("MPESA", "DISBURSEMENT")], ids=["the whole", "a channel"])
async def test_a_proposed_release_is_rejected_or_taken_back_and_lets_nothing_go(
    steps: PaymentSteps, scope: release.Scope, rejects: Actor
) -> None:
    await fence(steps)
    await let_go(steps, ASHA, scope=scope)
    async with steps.database.begin() as tx:
        await release.reject(tx, scope, actor=rejects, now=clock.now())
        with pytest.raises(Missing, match="release_nothing_proposed"):
            await release.reject(tx, scope, actor=rejects, now=clock.now())
    assert not await let_go(steps, JUMA, scope=scope), "it is proposed anew, and by that not approved"
    assert await let_go(steps, ASHA, scope=scope)
    async with steps.database.read() as connection:
        noted = await connection.fetch(
            "SELECT actor, details FROM audit_log WHERE action = 'installation.release_rejected'"
        )
    assert [each["actor"] for each in noted] == [rejects.name]
    assert EVIDENCE in str(noted[0]["details"])


@pytest.mark.parametrize("scope", [None, ("MPESA", "DISBURSEMENT"), ("TIGO_PESA", "COLLECTION")])
async def test_what_is_rejected_is_what_was_named_and_nothing_else(steps: PaymentSteps, scope: release.Scope) -> None:
    await fence(steps)
    await let_go(steps, ASHA, scope=("TIGO_PESA", "DISBURSEMENT"))
    with pytest.raises(Missing):
        async with steps.database.begin() as tx:
            await release.reject(tx, scope, actor=JUMA, now=clock.now())
    assert await let_go(steps, JUMA, scope=("TIGO_PESA", "DISBURSEMENT"))
