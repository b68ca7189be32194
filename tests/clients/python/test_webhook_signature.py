"""verify_webhook takes what malipo signs and refuses everything else: the same cases as for every receiver."""

import json
import time

import pytest
from malipo_client import InvalidWebhook, sign_webhook, verify_webhook
from standardwebhooks import Webhook

from tests.examples.receiver_cases import ACCEPTED, PLAIN, REFUSED, Change
from tests.examples.signed_webhooks import NEW, OLD, event, rotating, signed

# Of no concern here: what a shop wants from a payment, and the second signature, which covers neither id nor time.
LEFT_OUT = {"an empty transaction", "an amount in quotes", "an amount with a fraction", "no amount", "no reference"}
LEFT_OUT |= {
    "no status",
    *(name for name in REFUSED if PLAIN in name or name.lower().startswith(("hex", "half of the hex", "upper-case"))),
}
CASES = {name: case for name, case in REFUSED.items() if name not in LEFT_OUT}


@pytest.mark.parametrize(("status", "change"), CASES.values(), ids=CASES)
def test_a_webhook_that_is_not_ours_is_refused(status: int, change: Change) -> None:
    body = event(17)
    changed, headers = change(body, signed(body))
    with pytest.raises(InvalidWebhook) as refused:
        verify_webhook(changed, headers, f"{OLD},{NEW}")
    assert refused.value.status == status


@pytest.mark.parametrize("change", ACCEPTED.values(), ids=ACCEPTED)
def test_a_webhook_of_ours_is_an_event(change: Change) -> None:
    body = event(17)
    changed, headers = change(body, signed(body, event_id="evt_1"))
    answer = verify_webhook(changed, headers, [OLD, NEW])
    assert answer.transaction is not None
    assert (answer.event, answer.transaction.status, answer.transaction.amount) == (
        "payment.completed",
        "COMPLETED",
        1000,
    )
    assert answer.transaction.metadata == {"orderId": 17}
    assert answer.id in headers.values()
    assert answer.created_at is None


def test_an_event_of_a_settlement_has_a_settlement_and_no_transaction() -> None:
    body = json.dumps({"event": "settlement.completed", "settlement": {"id": "stl_1", "netAmount": 1000}}).encode()
    answer = verify_webhook(body, signed(body), OLD)
    assert answer.settlement is not None
    assert (answer.settlement.id, answer.settlement.net_amount, answer.transaction) == ("stl_1", 1000, None)


def test_an_event_of_a_link_has_a_link_and_no_transaction() -> None:
    body = json.dumps({"event": "link.paid", "link": {"id": "lnk_1", "status": "PAID", "payment": "txn_1"}}).encode()
    answer = verify_webhook(body, signed(body), OLD)
    assert answer.link is not None
    assert (answer.event, answer.link.id, answer.link.payment) == ("link.paid", "lnk_1", "txn_1")
    assert answer.transaction is None


def test_the_end_of_a_batch_is_an_event_without_a_transaction() -> None:
    body = json.dumps({"event": "batch.completed", "batch": {"id": "bat_1", "counts": {"FAILED": 1}}}).encode()
    answer = verify_webhook(body, signed(body), OLD)
    assert answer.batch is not None
    assert answer.transaction is None, "look at the event first"
    assert (answer.event, answer.batch.id, answer.batch.counts) == ("batch.completed", "bat_1", {"FAILED": 1})
    assert answer.to_dict().keys() == {"event", "batch", "id"}


def test_either_secret_of_a_rotation_is_enough() -> None:
    body = event(17)
    for secret in (OLD, NEW):
        answer = verify_webhook(body, rotating(body), secret).transaction
        assert answer is not None
        assert answer.amount == 1000


def test_what_is_signed_here_is_taken_by_the_official_library() -> None:
    body, now = event(17), int(time.time())
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(now)}
    headers["webhook-signature"] = sign_webhook(body, "evt_1", now, OLD)
    Webhook(OLD).verify(body, headers)
    with pytest.raises(InvalidWebhook, match="too old"):
        verify_webhook(body, headers, OLD, tolerance=-1)


@pytest.mark.parametrize("secret", ["", "whsec_", "secret", "whsec_no base64", OLD[6:], [OLD, ""]])
def test_a_secret_that_is_none_lets_nobody_in(secret: str | list[str]) -> None:
    body = event(17)
    with pytest.raises(ValueError, match="whsec_"):
        verify_webhook(body, signed(body), secret)
