"""/v1/recipients/lookup: the name behind a phone number, before money is paid to it."""

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import actor_of
from malipo.api.responses import success
from malipo.merchants.check_api_key import Caller
from malipo.networks.connector import Channel
from malipo.recipients.look_up import Payee
from malipo.validation.fields import Fields


async def look_up_one(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(await object_of(request))
    channel = fields.choice("channel", Channel, is_required=True)
    phone = fields.phone("phone")
    fields.check()
    assert channel is not None
    actor = actor_of(parts, caller, request)
    found = await parts.recipients.look_up(caller.merchant_id, Payee(channel, phone), actor=actor)
    recipient = {
        "channel": channel,
        "phone": phone,
        "name": found.name,
        "isRegistered": found.is_registered,
        "checkedAt": None if found.checked_at is None else clock.iso(found.checked_at),
    }
    return success({"recipient": recipient})
