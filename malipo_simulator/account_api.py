"""The merchant's account at each network, for scripts: its balance, its statement, and transfers to and from a bank."""

from datetime import date

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo_simulator.api import Handler, answer, read_object
from malipo_simulator.json_views import show_time
from malipo_simulator.simulator import Simulator
from malipo_simulator.statements.account import balance_of, statement_of
from malipo_simulator.statements.differences import Difference, with_differences
from malipo_simulator.statements.layouts import as_csv
from malipo_simulator.transaction import GatewayName

_SIGNS = {"fromBank": 1, "toBank": -1}
_MOST_SHILLINGS = 10**12
_MOST_OF_A_REFERENCE = 60


async def get_account(simulator: Simulator, request: Request) -> Response:
    gateway = _gateway(simulator, request)
    memory = simulator.network.memory
    transfers = [
        {"amount": each.amount, "reference": each.reference, "receipt": each.receipt, "at": show_time(each.at)}
        for each in memory.transfers
        if each.gateway is gateway
    ]
    return answer({"channel": gateway, "balance": balance_of(memory, gateway), "transfers": transfers})


async def post_transfer(simulator: Simulator, request: Request) -> Response:
    """Money between the account and the merchant's bank: a line of the statement."""
    gateway, body = _gateway(simulator, request), await read_object(request)
    amount, direction, reference = (body.get(name) for name in ("amount", "direction", "reference"))
    if type(amount) is not int or not 0 < amount <= _MOST_SHILLINGS:
        raise HTTPException(400, "amount must be a whole number of shillings, above 0.")
    if not isinstance(direction, str) or direction not in _SIGNS:
        raise HTTPException(400, f"direction must be one of {', '.join(_SIGNS)}.")
    if not isinstance(reference, str) or not 0 < len(reference) <= _MOST_OF_A_REFERENCE or not reference.isprintable():
        raise HTTPException(400, f"reference must be the bank's: 1 to {_MOST_OF_A_REFERENCE} characters.")
    done = simulator.network.transfer(gateway, _SIGNS[direction] * amount, reference)
    return answer({"receipt": done.receipt, "balance": balance_of(simulator.network.memory, gateway)}, 201)


async def get_statement(simulator: Simulator, request: Request) -> Response:
    """The account on a day, as that network would export it."""
    gateway = _gateway(simulator, request)
    try:
        day = date.fromisoformat(request.query_params.get("day", ""))
    except ValueError:
        raise HTTPException(400, "day must be a date such as 2026-11-15.") from None
    wanted = [each for each in request.query_params.get("with", "").split(",") if each]
    if unknown := [each for each in wanted if each not in Difference.__members__.values()]:
        raise HTTPException(400, f"with: {', '.join(unknown)} is not one of {', '.join(Difference)}.")
    network = simulator.network
    statement = statement_of(network.memory, gateway, day, merchant=network.control.switches[gateway].merchant)
    text = as_csv(with_differences(statement, {Difference(each) for each in wanted}))
    headers = {"Content-Disposition": f'attachment; filename="{gateway}-{day}.csv"', "Cache-Control": "no-store"}
    return Response(text, media_type="text/csv", headers=headers)


def _gateway(simulator: Simulator, request: Request) -> GatewayName:
    name = request.path_params["channel"]
    if name not in simulator.gateways:
        raise HTTPException(404, f"{name!r} is not one of {', '.join(simulator.gateways)}.")
    return GatewayName(name)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/api/accounts/{channel}", get_account),
    ("POST", "/api/accounts/{channel}/transfers", post_transfer),
    ("GET", "/api/statements/{channel}", get_statement),
)
