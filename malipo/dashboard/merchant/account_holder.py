"""Whose number it is, on the pages for a new payout: a help for who pays, which never keeps anybody from paying."""

import asyncio

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.errors import Refusal, Unavailable
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.recipients.look_up import NameCheck, Payee

_SECONDS = 2.0  # A page does not wait longer for a name.


async def show(request: MerchantRequest, line: Payee) -> Response:
    check = await check_name(request, line)
    return render.page(
        request,
        "merchant/new_payment/recipient.html",
        check=check,
        typed=line.name,
        network=PROFILES[line.channel].name,
    )


async def check_name(request: MerchantRequest, line: Payee) -> NameCheck:
    """Look up the name; an unknown name if anything fails. A look-up of the same person within the last minute does not
    count again."""
    recalled = request.parts.recipients.recall(request.merchant_id, line, actor=request.actor)
    if recalled is not None:
        return recalled
    try:
        async with asyncio.timeout(_SECONDS):
            return await request.parts.recipients.look_up(request.merchant_id, line, actor=request.actor)
    except (Refusal, Unavailable, TimeoutError):
        return NameCheck()
