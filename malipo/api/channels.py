"""/v1/channels: each channel with its limits, whether it is up, and the one that a phone number suggests."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.api.responses import success
from malipo.merchants.check_api_key import Caller
from malipo.money import MIN_PAYMENT
from malipo.networks import circuit_store
from malipo.networks.channel_names_and_prefixes import PROFILES, channel_of
from malipo.networks.connector import Channel, Type
from malipo.validation.fields import Fields


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    query = dict(request.query_params)
    if query.get("phone", "").startswith(" "):
        query["phone"] = (
            "+" + query["phone"][1:]
        )  # A plus that was not percent-encoded arrives as a space, and can mean nothing else.
    fields = Fields(query)
    phone = fields.phone("phone") if fields.raw("phone") is not None else None
    fields.check()
    suggested = None if phone is None else channel_of(phone)
    down = await parts.queries.read(circuit_store.find_down)

    def is_up(channel: Channel) -> bool:
        """Whether payments of both types are sent at once: each has a connector, and none is known to be down."""
        ways = [parts.networks.routes.get((channel, type_)) for type_ in Type]
        return all(way is not None and way not in down for way in ways)

    channels = [
        {
            "channel": channel,
            "name": profile.name,
            "minAmount": MIN_PAYMENT,
            "maxAmount": parts.payments.terms.max_amounts[channel],
            "prefixes": profile.prefixes,
            "isUp": is_up(channel),
        }
        | ({"suggested": True} if channel is suggested else {})
        for channel, profile in PROFILES.items()
    ]
    return success({"channels": channels})
