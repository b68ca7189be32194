"""/v1/wallet and /v1/wallet/entries: the balance and the statement."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from malipo import clock, money
from malipo.api.parts import ApiParts
from malipo.api.responses import AnswerForm, pagination, success
from malipo.ledger.statement import COLUMNS, WalletLineFilter, WalletLineKind, csv_of, row_of
from malipo.ledger.store import statement, wallets
from malipo.merchants.check_api_key import Caller
from malipo.validation.fields import Fields


async def retrieve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    wallet, updated_at = await parts.queries.read(lambda connection: wallets.get(connection, caller.merchant_id))
    shown = {
        "currency": money.CURRENCY,
        "available": wallet.available,
        "reserved": wallet.in_flight,
        **({"owed": wallet.owed} if wallet.owed else {}),
        "updatedAt": clock.iso(updated_at),
    }
    return success({"wallet": shown})


async def list_entries(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    wanted = WalletLineFilter(
        first=fields.moment("from"), last=fields.moment("to", is_end=True), kind=fields.choice("kind", WalletLineKind)
    )
    form = fields.choice("format", AnswerForm) or AnswerForm.JSON
    page, limit = fields.page(), fields.limit()
    fields.check_range(wanted.first, wanted.last)
    fields.check()
    if form is AnswerForm.CSV:
        pieces = statement.stream(parts.queries.read_part, caller.merchant_id, wanted)
        headers = {"Content-Disposition": 'attachment; filename="statement.csv"'}
        return StreamingResponse(csv_of(pieces), media_type="text/csv; charset=utf-8", headers=headers)
    total, lines = await parts.queries.read_snapshot(
        lambda connection: statement.page(connection, caller.merchant_id, wanted, page=page, limit=limit), may_lag=True
    )
    entries = [dict(zip(COLUMNS, row_of(line), strict=True)) for line in lines]
    return success({"entries": entries, "pagination": pagination(total, page=page, limit=limit)})
