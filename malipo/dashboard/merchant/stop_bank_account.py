"""The page of a link that stops a bank account: for those who got an e-mail about the account, also if they can no
longer log in. Looking at it changes nothing: programs look at e-mails before people do."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.merchants import bank_account_stop_links
from malipo.merchants.store import merchants
from malipo.settlement.bank_account import named_account
from malipo.settlement.manage_bank_accounts import stop_by_link
from malipo.settlement.store import bank_accounts

PATH = "/dashboard/stop"


async def show(request: MerchantRequest) -> Response:
    return await _page(request, request.http.query_params.get("token", ""))


async def stop(request: MerchantRequest) -> Response:
    link, now = (await request.form()).text("link"), request.parts.clock()
    stopped = await request.parts.queries.write(lambda tx: stop_by_link(tx, link, address=request.address, now=now))
    if stopped is None:
        return await _page(request, link)
    return render.page(
        request, "merchant/stop_bank_account.html", bank_account=None, link=None, merchant_name="", is_stopped=True
    )


async def _page(request: MerchantRequest, link: str) -> Response:
    now = request.parts.clock()

    async def find(connection: Conn) -> tuple[object, str, bool] | None:
        found = await bank_account_stop_links.find(connection, link, now=now)
        account = None if found is None else await bank_accounts.get_with_id(connection, found.bank_account_id)
        if account is None or not account.may_be_stopped:
            return None
        business = await merchants.name_of(connection, account.merchant_id)
        return named_account(account), business, account.has_replaced(now)

    shown = await request.parts.queries.read(find)
    account, merchant_name, has_replaced = shown or (None, "", False)
    return render.page(
        request,
        "merchant/stop_bank_account.html",
        status=HTTPStatus.OK if shown else HTTPStatus.BAD_REQUEST,
        bank_account=account,
        link=link,
        merchant_name=merchant_name,
        has_replaced=has_replaced,
        is_stopped=False,
    )
