"""/merchant/webhooks/{id}/rotate-secret: a new secret signs beside the old one until the change is finished."""

import hashlib
import hmac
from datetime import timedelta

from standardwebhooks import Webhook, WebhookVerificationError

from malipo import clock
from tests.api.conftest import Desk, is_refused
from tests.api.response_fields import moment
from tests.api.webhooks.endpoints import SECRET, URL
from tests.conftest import create_database
from tests.journeys.in_process_api import in_process_api
from tests.journeys.webhook_receivers import Got, Receiver
from tests.journeys.webhook_stack import ManualClock, webhook_stack


def verifies(got: Got, secret: str) -> bool:
    try:
        Webhook(secret).verify(got.body, dict(got.headers))
    except WebhookVerificationError:
        return False
    return True


async def test_a_new_secret_signs_beside_the_old_one_until_it_is_finished(desk: Desk, shop: Receiver) -> None:
    old = await desk.register(shop.url("/"))
    at, shown = f"/{old['id']}", await desk.shown(old["id"])
    began = clock.now()

    rotated = await desk("POST", f"{at}/rotate-secret")
    new = rotated.body["endpoint"]["secret"]

    assert rotated.status == 200
    assert set(rotated.body) == {"success", "endpoint", "message"}
    assert SECRET.fullmatch(new)
    assert new != old["secret"]
    changing = shown | {"rotationEndsAt": rotated.body["endpoint"]["rotationEndsAt"]}
    assert rotated.body["endpoint"] == changing | {"secret": new}
    ends_at = moment(changing["rotationEndsAt"])
    assert began + timedelta(hours=23, minutes=59) <= ends_at <= clock.now() + timedelta(hours=24)
    assert await desk.shown(old["id"]) == changing
    assert is_refused(await desk("POST", f"{at}/rotate-secret"), 409, "rotation_under_way")

    async with desk.gate.webhook_stack.a_worker():
        await desk("POST", f"{at}/test")
        finished = await desk("POST", f"{at}/rotate-secret/finish")
        await desk("POST", f"{at}/test")

    both, only_new = shop.got
    assert (finished.status, set(finished.body)) == (200, {"success", "endpoint", "message"})
    assert finished.body["endpoint"] == shown
    assert is_refused(await desk("POST", f"{at}/rotate-secret/finish"), 409, "no_rotation")
    assert (verifies(both, old["secret"]), verifies(both, new)) == (True, True)
    assert (verifies(only_new, old["secret"]), verifies(only_new, new)) == (False, True)


async def test_what_was_never_begun_is_not_finished(desk: Desk) -> None:
    endpoint = await desk.register(URL)

    assert is_refused(await desk("POST", f"/{endpoint['id']}/rotate-secret/finish"), 409, "no_rotation")


async def test_a_change_of_the_secret_ends_by_itself_after_24_hours(
    postgres: str, template: str, shop: Receiver
) -> None:
    hand = ManualClock()
    own = await create_database(postgres, template)
    async with webhook_stack(own, clock=hand) as here, in_process_api(here) as gate, here.a_worker():
        desk = Desk(gate, await here.merchant())
        endpoint = await desk.register(shop.url("/"))
        at, shown = f"/{endpoint['id']}", await desk.shown(endpoint["id"])
        new = (await desk("POST", f"{at}/rotate-secret")).body["endpoint"]["secret"]
        hand.move(timedelta(hours=23, minutes=59))
        assert (await desk("POST", f"{at}/rotate-secret")).status == 409
        await desk("POST", f"{at}/test")

        hand.move(timedelta(minutes=1))

        await desk("POST", f"{at}/test")
        assert await desk.shown(endpoint["id"]) == shown
        assert (await desk("POST", f"{at}/rotate-secret/finish")).status == 200, "it has ended already, as was asked"
        assert (await desk("POST", f"{at}/rotate-secret")).status == 200
    assert [_signatures(got) for got in shop.got] == [
        [_signature(got.body, secret) for secret in secrets]
        for got, secrets in zip(shop.got, ([endpoint["secret"], new], [new]), strict=True)
    ]


def _signatures(got: Got) -> list[str]:
    names = ("x-service-signature", "x-service-signature-next")
    return [got.headers[name] for name in names if name in got.headers]


def _signature(body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
