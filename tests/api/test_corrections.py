"""What a program is told when a network has said something else later: the wallet, the payment, the feed."""

import pytest

from malipo.db import Database
from malipo.networks.contract import Verdict
from malipo.payments.transaction import Status, Type
from malipo.service import Service
from malipo.webhooks.fan_out import fan_out
from tests.api.contract import moment
from tests.conftest import PAYOUT, Client, Merchant
from tests.payments.story import Story


@pytest.fixture
async def story(service: Service, merchant: Merchant) -> Story:
    """With TZS 1,000,000, and fees."""
    story = Story(service, merchant.id)
    await story.charge_fees()
    return story


async def test_what_is_owed_is_in_the_wallet_as_long_as_it_is_not_nothing(api: Client, story: Story) -> None:
    assert "owed" not in (await api("GET", "/v1/wallet")).body["wallet"]
    paid = await story.contradicted(Type.DISBURSEMENT, Status.FAILED, 50_000)

    wallet = (await api("GET", "/v1/wallet")).body["wallet"]
    assert list(wallet) == ["currency", "available", "reserved", "owed", "updatedAt"]
    assert (wallet["available"], wallet["reserved"], wallet["owed"]) == (1_000_000, 0, 50_030)

    await story.hear(paid, Verdict.REFUSED)
    assert "owed" not in (await api("GET", "/v1/wallet")).body["wallet"]


async def test_a_payout_needs_what_is_not_owed(api: Client, story: Story) -> None:
    await story.contradicted(Type.DISBURSEMENT, Status.FAILED, 50_000)
    refused = await api("POST", "/v1/payments/disburse", PAYOUT | {"channel": "MPESA", "amount": 949_941})
    assert (refused.status, refused.code) == (400, "insufficient_balance")
    taken = await api("POST", "/v1/payments/disburse", PAYOUT | {"channel": "MPESA", "amount": 949_940})
    assert taken.status == 201


@pytest.mark.parametrize(
    ("type_", "status", "expected"),
    [
        (Type.COLLECTION, Status.FAILED, ("COMPLETED", 970, "credited")),
        (Type.COLLECTION, Status.COMPLETED, ("FAILED", 970, "debt_recorded")),
        (Type.DISBURSEMENT, Status.FAILED, ("COMPLETED", 1030, "debt_recorded")),
    ],
)
async def test_a_correction_is_on_the_payment_and_in_its_event(
    api: Client, story: Story, database: Database, type_: Type, status: Status, expected: tuple[str, int, str]
) -> None:
    ended = await story.ended(type_, status)
    before = (await api("GET", f"/v1/payments/{ended.id}")).body["transaction"]
    says = Verdict.REFUSED if status is Status.COMPLETED else Verdict.CONFIRMED
    await story.hear(ended, says)

    after = (await api("GET", f"/v1/payments/{ended.id}")).body["transaction"]
    correction = after.pop("correction")
    assert after == before, "what was told stays"
    assert list(correction) == ["outcome", "amount", "correctedAt", "reason"]
    assert (correction["outcome"], correction["amount"], correction["reason"]) == expected
    moment(correction["correctedAt"])
    async with database.begin() as tx:
        await fan_out(
            tx, most=100, claim_id="clm_1", lease_seconds=60, may_take=lambda _: False, now=story.service.clock()
        )
    *_, last = (await api("GET", "/v1/events")).body["events"]
    assert last["event"] == ("payment.corrected" if type_ is Type.COLLECTION else "payout.corrected")
    assert last["transaction"] == {**{k: v for k, v in before.items() if k != "statusLogs"}, "correction": correction}


async def test_a_payout_that_was_not_paid_after_all_is_told_only_when_the_wallet_gets_it(
    api: Client, story: Story
) -> None:
    """Until operators have decided, neither the wallet nor what it owes has changed."""
    contradicted = await story.contradicted(Type.DISBURSEMENT, Status.COMPLETED)
    assert "correction" not in (await api("GET", f"/v1/payments/{contradicted.id}")).body["transaction"]


async def test_the_list_stays_as_it_was(api: Client, story: Story) -> None:
    await story.contradicted(Type.DISBURSEMENT, Status.FAILED)
    [line] = (await api("GET", "/v1/payments")).body["transactions"]
    assert "correction" not in line
