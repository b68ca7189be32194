"""/v1/payments."""

import re

from starlette.requests import Request
from starlette.responses import Response

from malipo import ids
from malipo.api.caller import header_of
from malipo.api.fields import Fields
from malipo.api.shapes import object_of, pagination, success
from malipo.merchants.admit import Admitted
from malipo.networks.contract import Channel
from malipo.payments import idempotency, shown
from malipo.payments.cancel import Cancellation, NoSuchTransaction
from malipo.payments.fees import MIN_AMOUNT
from malipo.payments.initiate import Order
from malipo.payments.store import listing, transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.service import Service

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_WAIT_SECONDS = 30


async def collect(service: Service, caller: Admitted, request: Request) -> Response:
    return await _initiate(service, caller, request, Type.COLLECTION)


async def disburse(service: Service, caller: Admitted, request: Request) -> Response:
    return await _initiate(service, caller, request, Type.DISBURSEMENT)


async def _initiate(service: Service, caller: Admitted, request: Request, type_: Type) -> Response:
    order = _order(service, caller, type_, await object_of(request), header_of(request, idempotency.HEADER))
    initiated = await service.initiate(order)
    headers = {"Idempotency-Replayed": "true"} if initiated.is_replay else None
    return success({"transaction": shown.created(initiated.transaction)}, status=201, headers=headers)


def _order(service: Service, caller: Admitted, type_: Type, body: dict[str, object], key: str | None) -> Order:
    """What the caller asks for, with its ids, right or wrong: a used key is answered before any field rule."""
    party = "buyer" if type_ is Type.COLLECTION else "recipient"
    fields = Fields(body)
    channel = fields.choice("channel", Channel, is_required=True)
    now = service.clock()
    suffix = ids.suffix(now)
    draft = Transaction(
        merchant_id=caller.merchant_id,
        id=ids.mint("txn_", now),
        reference=service.reference_of(suffix),
        network_key=suffix,
        type=type_,
        channel=channel or Channel.MPESA,
        status=Status.PENDING,
        amount=fields.amount("amount", least=MIN_AMOUNT, most=service.max_amount(channel)),
        fee=0,
        phone=fields.phone(f"{party}Phone"),
        name=fields.text(f"{party}Name", most=100),
        description=fields.text("description", most=255),
        metadata=fields.metadata("metadata"),
        created_at=now,
    )
    if key is not None and (problem := idempotency.problem_with(key)):
        fields.wrong(idempotency.HEADER, "idempotency_key_invalid", problem)
        key = None
    known = {
        "amount": fields.raw("amount"),
        "channel": fields.raw("channel"),
        "phone": fields.raw(f"{party}Phone"),
        "name": fields.raw(f"{party}Name", ""),
        "description": fields.raw("description", ""),
        "metadata": fields.raw("metadata", {}),
    }
    return Order(
        merchant_id=caller.merchant_id,
        type=type_,
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key,
        fingerprint=idempotency.fingerprint(known) if key is not None else b"",
    )


async def list_(service: Service, caller: Admitted, request: Request) -> Response:
    fields = Fields(request.query_params)
    wanted = listing.Filter(
        status=fields.choice("status", Status),
        type=fields.choice("type", Type),
        channel=fields.choice("channel", Channel),
        first=fields.moment("from"),
        last=fields.moment("to", is_end=True),
        search=fields.text("search", most=255).strip() or None,
    )
    page, limit = fields.page(), fields.limit()
    fields.check_range(wanted.first, wanted.last)
    fields.check()
    total, found = await service.read_snapshot(
        lambda connection: listing.page(connection, caller.merchant_id, wanted, page=page, limit=limit)
    )
    lines = [shown.listed(each) for each in found]
    return success({"transactions": lines, "pagination": pagination(total, page=page, limit=limit)})


async def retrieve(service: Service, caller: Admitted, request: Request) -> Response:
    fields = Fields(request.query_params)
    wait_seconds = fields.whole("wait", 0, least=0, most=_MOST_WAIT_SECONDS)
    fields.check()
    transaction = await _get(service, caller, request)
    if wait_seconds and not transaction.status.is_final:
        key = (transaction.merchant_id, transaction.id)
        await service.statuses.until_changed(key, transaction.status, seconds=wait_seconds)
        transaction = await _get(service, caller, request)
    return success({"transaction": shown.retrieved(transaction)})


async def _get(service: Service, caller: Admitted, request: Request) -> Transaction:
    name = _name_in(request)
    transaction = await service.read(lambda connection: transactions.get(connection, caller.merchant_id, name))
    if transaction is None:
        raise NoSuchTransaction
    return transaction


def _name_in(request: Request) -> str:
    """The id or reference in the path. What cannot be either need not be looked for."""
    name: str = request.path_params["id"]
    if not _NAME.fullmatch(name):
        raise NoSuchTransaction
    return name


async def cancel(service: Service, caller: Admitted, request: Request) -> Response:
    transaction = await service.cancel(Cancellation(caller.merchant_id, _name_in(request)))
    return success({"transaction": shown.retrieved(transaction)})
