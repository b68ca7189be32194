"""/v1/payments/quote: the fee of a payment. Nothing is created."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.responses import success
from malipo.merchants.check_api_key import Caller
from malipo.money import MIN_PAYMENT
from malipo.networks.connector import Channel
from malipo.payments.fees import fee_of
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from malipo.validation.fields import Fields


async def preview(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(await object_of(request))
    type_ = fields.choice("type", Type, is_required=True)
    channel = fields.choice("channel", Channel, is_required=True)
    amount = fields.amount("amount", least=MIN_PAYMENT, most=parts.payments.terms.max_amount(channel))
    fields.currency()
    fields.check()
    assert type_ is not None
    assert channel is not None
    bands = await parts.queries.read(lambda connection: tariffs.find(connection, [caller.merchant_id]))
    fee = fee_of(amount, bands.get((caller.merchant_id, type_, channel), ()))
    is_payout = type_ is Type.DISBURSEMENT
    quote = {
        "type": type_,
        "channel": channel,
        "amount": amount,
        "fee": fee,
        "netAmount": amount if is_payout else amount - fee,
        "totalAmount": amount + fee if is_payout else amount,
    }
    return success({"quote": quote})
