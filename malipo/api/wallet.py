"""/v1/wallet."""

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock, money
from malipo.api.shapes import success
from malipo.ledger import store as ledger
from malipo.merchants.admit import Admitted
from malipo.service import Service


async def retrieve(service: Service, caller: Admitted, request: Request) -> Response:
    wallet, updated_at = await service.read(lambda connection: ledger.get(connection, caller.merchant_id))
    shown = {
        "currency": money.CURRENCY,
        "available": wallet.available,
        "reserved": wallet.in_flight,
        "updatedAt": clock.iso(updated_at),
    }
    return success({"wallet": shown})
