"""The page on which a business decides whether its programs must send an Idempotency-Key."""

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.merchants import payment_settings
from malipo.merchants.store import merchants

PATH = "/dashboard/settings/payments"


async def show(request: MerchantRequest) -> Response:
    is_required = await request.parts.queries.read(
        lambda connection: merchants.requires_idempotency_key(connection, request.merchant_id)
    )
    return render.page(request, "merchant/settings/payments.html", is_key_required=is_required)


async def require_idempotency_key(request: MerchantRequest) -> Response:
    form = await request.form()
    is_required, now = form.text("required") == "yes", request.parts.clock()
    await request.parts.queries.write(
        lambda tx: payment_settings.require_idempotency_key(
            tx, request.merchant_id, is_required=is_required, actor=request.actor, now=now
        )
    )
    return request.go(PATH, "key-required" if is_required else "key-optional")
