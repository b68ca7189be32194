"""/v1/channels."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.shapes import success
from malipo.merchants.admit import Admitted
from malipo.networks.catalog import PROFILES
from malipo.payments.fees import MIN_AMOUNT
from malipo.service import Service


async def list_(service: Service, caller: Admitted, request: Request) -> Response:
    channels = [
        {
            "channel": channel,
            "name": profile.name,
            "minAmount": MIN_AMOUNT,
            "maxAmount": service.max_amounts[channel],
            "prefixes": profile.prefixes,
            "isUp": True,
        }
        for channel, profile in PROFILES.items()
    ]
    return success({"channels": channels})
