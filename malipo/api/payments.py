"""/v1/payments: create, read, list, cancel and refund payments."""

import re
from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of, optional_object_of
from malipo.api.request_credentials import header_of, require
from malipo.api.responses import encoded, pagination, replayed, success
from malipo.db import Conn
from malipo.errors import OutcomeUnknown
from malipo.http.accept_language import Language, preferred
from malipo.http.client_disconnect import while_connected
from malipo.http.request_ids import enter_payment, note_transaction
from malipo.merchants.api_keys import COLLECTING, PAYING_OUT, Permission
from malipo.merchants.check_api_key import Caller
from malipo.payments import idempotency, payment_json
from malipo.payments.cancel import Cancellation
from malipo.payments.initiate import InitiatedPayment, PaymentRequest
from malipo.payments.listing import transaction_list
from malipo.payments.listing.filters import filter_in
from malipo.payments.payment_request import payment_request_of
from malipo.payments.refunds.refund_request import refund_request_of
from malipo.payments.store import transactions
from malipo.payments.transaction import NoSuchTransaction, Transaction, Type
from malipo.validation.fields import Fields

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_WAIT_SECONDS = 30


class View(StrEnum):
    """How much of each payment a list shows, if not only the usual fields."""

    FULL = "full"


async def collect(parts: ApiParts, caller: Caller, request: Request) -> Response:
    return await _initiate(parts, caller, request, Type.COLLECTION)


async def disburse(parts: ApiParts, caller: Caller, request: Request) -> Response:
    return await _initiate(parts, caller, request, Type.DISBURSEMENT)


async def refund(parts: ApiParts, caller: Caller, request: Request) -> Response:
    body = await optional_object_of(request)
    collection = await _get(parts, caller, request)
    wanted = refund_request_of(
        Fields(body),
        collection,
        key=header_of(request, idempotency.HEADER),
        terms=parts.payments.terms,
        now=parts.clock(),
        created_by=caller.key_id,
        payout_limits=caller.payout_limits,
        is_key_required=caller.requires_idempotency_key,
    )
    return await _create(parts, wanted)


async def _initiate(parts: ApiParts, caller: Caller, request: Request, type_: Type) -> Response:
    wanted = payment_request_of(
        Fields(await object_of(request)),
        type_,
        caller.merchant_id,
        key=header_of(request, idempotency.HEADER),
        terms=parts.payments.terms,
        now=parts.clock(),
        created_by=caller.key_id,
        payout_limits=caller.payout_limits,
        is_key_required=caller.requires_idempotency_key,
    )
    return await _create(parts, wanted)


async def _create(parts: ApiParts, wanted: PaymentRequest) -> Response:
    if wanted.draft is not None:
        enter_payment(wanted.draft.id)
    try:
        initiated = await parts.payments.initiate(wanted)
    except OutcomeUnknown:
        if wanted.draft is not None:
            # It may exist: the log line gives its id, so that an engineer can look it up.
            note_transaction(wanted.draft.id)
        raise
    note_transaction(initiated.transaction.id, is_new=not initiated.is_replay)
    headers = replayed(initiated.transaction.status) if initiated.is_replay else None
    return Response(created_body(initiated), 201, headers=headers, media_type="application/json")


def created_body(initiated: InitiatedPayment) -> bytes:
    return encoded({"transaction": payment_json.created(initiated.transaction)})


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    wanted = filter_in(fields)
    page, limit, view = fields.page(), fields.limit(), fields.choice("view", View)
    fields.check_range(wanted.first, wanted.last)
    fields.check()

    async def find(connection: Conn) -> tuple[int, list[Transaction]]:
        merchant_id = caller.merchant_id
        total, found = await transaction_list.page(connection, merchant_id, wanted, page=page, limit=limit)
        return total, found if view is None else await transaction_list.with_corrections(connection, merchant_id, found)

    total, found = await parts.queries.read_snapshot(find, is_search=wanted.may_be_costly)
    body = {"pagination": pagination(total, page=page, limit=limit)}
    if view is None:
        return success({"transactions": [payment_json.listed(each) for each in found]} | body)
    language = _language_of(request)
    lines = [payment_json.in_full(each, language) for each in found]
    return success({"transactions": lines} | body, headers=_headers_of(language))


async def retrieve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    wait_seconds = fields.whole("wait", 0, least=0, most=_MOST_WAIT_SECONDS)
    fields.check()
    transaction = await _get(parts, caller, request)
    if wait_seconds and not transaction.status.is_final:
        key = (transaction.merchant_id, transaction.id)
        change = parts.long_polls.statuses.until_changed(key, transaction.status, seconds=wait_seconds)
        await while_connected(request, change)
        parts.queries.begin_waiting()
        transaction = await _get(parts, caller, request)
    language = _language_of(request)
    return success({"transaction": payment_json.retrieved(transaction, language)}, headers=_headers_of(language))


def _language_of(request: Request) -> Language:
    return preferred(request.headers.get("accept-language", ""))


def _headers_of(language: Language) -> dict[str, str]:
    """The headers of an answer with sentences in the language of Accept-Language, so that no cache mixes languages
    up."""
    return {"Content-Language": language, "Vary": "Accept-Language"}


async def _get(parts: ApiParts, caller: Caller, request: Request) -> Transaction:
    name = name_in(request)
    transaction = await parts.queries.read(lambda connection: transactions.get(connection, caller.merchant_id, name))
    if transaction is None:
        raise NoSuchTransaction
    note_transaction(transaction.id)
    return transaction


def name_in(request: Request) -> str:
    """The id or reference in the path. A text that can be neither is refused without a query."""
    name: str = request.path_params["id"]
    if not _NAME.fullmatch(name):
        raise NoSuchTransaction
    return name


# A key that takes money in cancels what it could ask for, one that pays out what it could send.
_CANCELLING = {Type.COLLECTION: COLLECTING, Type.DISBURSEMENT: PAYING_OUT}
MAY_CANCEL = (*COLLECTING, Permission.PAYMENTS_DISBURSE)


async def cancel(parts: ApiParts, caller: Caller, request: Request) -> Response:
    if Permission.PAYMENTS_CREATE not in caller.permissions:
        require(caller, *_CANCELLING[(await _get(parts, caller, request)).type])  # The type of a payment never changes.
    transaction = await parts.payments.cancel(Cancellation(caller.merchant_id, name_in(request)))
    note_transaction(transaction.id)
    return success({"transaction": payment_json.retrieved(transaction)})
