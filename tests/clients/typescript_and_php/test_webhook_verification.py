"""Which webhooks verifyWebhook accepts: the same grid as that of the example receivers.

It looks at `webhook-signature` alone, which covers the id, the time and the body: the word in X-Service-Signature is
the operator's choice. So what is wrong only there changes nothing.
"""

import base64
import json
from typing import Any

import pytest

from tests.clients.typescript_and_php.programs import Program, Refused
from tests.examples.receiver_cases import ACCEPTED, PLAIN, REFUSED
from tests.examples.signed_webhooks import NEW, OLD, STRANGE, event, now, rotating, signed

BOTH = f"{OLD},{NEW}"


def verify(program: Program, body: bytes, headers: dict[str, Any], secret: Any = BOTH, **more: Any) -> Any:
    return program.ask("verifyWebhook", body=base64.b64encode(body).decode(), headers=headers, secret=secret, **more)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_refused_with_its_status(program: Program, case: str) -> None:
    body = event(1)
    good = signed(body)
    expected, change = REFUSED[case]
    sent, headers = change(body, good)
    if sent == body and {name for name in good if headers.get(name) != good[name]} == {PLAIN}:
        assert verify(program, sent, headers)["id"] == good["webhook-id"]
        return
    with pytest.raises(Refused) as refused:
        verify(program, sent, headers)
    assert (refused.value.kind, refused.value.details["status"]) == ("InvalidWebhook", expected)


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_rightly_signed_is_believed(program: Program, case: str) -> None:
    body = event(17)
    sent, headers = ACCEPTED[case](body, signed(body))
    answer = verify(program, sent, headers)
    names = {name.lower(): value for name, value in headers.items()}
    assert answer == {"id": names["webhook-id"], **json.loads(body)}


def test_one_of_the_secrets_is_enough_and_a_list_of_them_too(program: Program) -> None:
    body = event(1)
    for known, unknown in ((OLD, NEW), (NEW, OLD)):
        assert verify(program, body, rotating(body), known)
        assert verify(program, body, signed(body, unknown), [known, unknown])
        with pytest.raises(Refused, match="InvalidWebhook"):
            verify(program, body, signed(body, unknown), known)
        with pytest.raises(Refused, match="InvalidWebhook"):
            verify(program, body, rotating(body, unknown, STRANGE), known)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!" + OLD[7:], f"{OLD},", [], [""], OLD[:-1]], ids=repr)
def test_without_a_usable_secret_nobody_is_believed(program: Program, secret: Any) -> None:
    body = event(1)
    with pytest.raises(Refused, match=r"^MalipoError: .*whsec_"):
        verify(program, body, signed(body), secret)


def test_how_old_it_may_be_can_be_said(program: Program) -> None:
    body = event(1)
    name = "toleranceSeconds" if program.language == "typescript" else "tolerance"
    old = signed(body, at=now() - 3000)
    assert verify(program, body, old, **{name: 3600})
    with pytest.raises(Refused, match="too old"):
        verify(program, body, old)


def test_headers_are_taken_as_frameworks_have_them(program: Program) -> None:
    body = event(1)
    good = signed(body)
    assert verify(program, body, {name: [value] for name, value in good.items()})  # Symfony, Laravel, Node.js
    if program.language == "php":
        server = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in good.items()}
        assert verify(program, body, server | {"REQUEST_TIME": 1, "argv": []})


def test_a_test_of_the_endpoint_is_an_event(program: Program) -> None:
    body = event(None, kind="webhook.test", status="PENDING", amount=0, reference="TEST")
    assert verify(program, body, signed(body))["event"] == "webhook.test"


def test_an_event_of_a_link_has_a_link_and_no_transaction(program: Program) -> None:
    link = {"id": "lnk_1", "status": "PAID", "paidCount": 1, "paidAmount": 3000, "payment": "txn_1"}
    body = json.dumps({"event": "link.paid", "link": link}).encode()
    answer = verify(program, body, signed(body))
    assert (answer["event"], answer["link"], "transaction" in answer) == ("link.paid", link, False)


def test_the_end_of_a_batch_is_an_event_without_a_transaction(program: Program) -> None:
    batch = {"id": "bat_1", "status": "COMPLETED", "amount": 3000, "counts": {"COMPLETED": 1, "FAILED": 1}}
    body = json.dumps({"event": "batch.completed", "batch": batch}).encode()
    answer = verify(program, body, signed(body))
    assert (answer["event"], answer["batch"], "transaction" in answer) == ("batch.completed", batch, False)
    without = json.dumps({"event": "batch.completed", "batch": batch | {"id": None}}).encode()
    with pytest.raises(Refused, match="InvalidWebhook"):
        verify(program, without, signed(without))
