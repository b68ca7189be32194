"""/callbacks: callbacks of the networks, which report the outcome of a payment.

Anybody can send a request here, so the path has a secret part, the addresses may be limited, and an unsigned callback
is only a hint: it triggers a status query. The response is the one that the network expects.
"""

import hmac

from starlette.requests import Request
from starlette.responses import Response

from malipo import ids, log, tracing
from malipo.api.parts import ApiParts
from malipo.api.request_body import body_of
from malipo.errors import Forbidden, Missing
from malipo.http.client_address import address_of
from malipo.http.request_ids import note_transaction
from malipo.networks.connector import Callback, CallbackReport, cannot_query
from malipo.networks.routing import CallbackAccess
from malipo.payments.apply_network_answers import AnswerToApply
from malipo.payments.dispatch import AnswerSource, ReceivedAnswer


async def receive(parts: ApiParts, request: Request) -> Response:
    name = request.path_params["route"]
    access = parts.networks.callback_access.get(name)
    if access is None or not hmac.compare_digest(access.token.encode(), request.path_params["token"].encode()):
        raise Missing("There is nothing at this address.")
    _require_address(parts, access, request)
    connector = parts.networks.connectors[name]
    callback = Callback(dict(request.headers), await body_of(request))
    report = connector.read(callback)
    if report is None:
        log.warning("callback.unreadable", route=name, bytes=len(callback.body))
    else:
        if report.answer.alert is not None:
            log.error("network.alert", route=name, alert=report.answer.alert)
        await _take_in(parts, name, report)
    answer = connector.acknowledge(callback, report)
    return Response(answer.body, answer.status, media_type=answer.media_type)


def _require_address(parts: ApiParts, access: CallbackAccess, request: Request) -> None:
    address = address_of(request, parts.settings.trusted_proxies)
    if access.allowed and not any(address in network for network in access.allowed):
        raise Forbidden("This address may not send callbacks.", code="address_not_allowed")


async def _take_in(parts: ApiParts, name: str, report: CallbackReport) -> None:
    """If it cannot be stored, the network gets a 503 instead of an acknowledgement, and sends it again."""
    access = parts.networks.callback_access[name]
    received = AnswerToApply(
        id=ids.mint("hrg_", parts.clock()),
        channels=parts.networks.reach[name],
        key=report.key,
        received=ReceivedAnswer(
            connector=name,
            source=AnswerSource.CALLBACK,
            answer=report.answer,
            is_trusted=report.is_signed,
            is_listed=bool(access.allowed),
            review_amount=access.review_amount,
            cannot_query=cannot_query(parts.networks.connectors[name]),
        ),
    )
    result = await parts.network_work.apply_answer(received)
    if result is None:
        answer = report.answer
        log.warning(
            "callback.unknown_payment", route=name, verdict=answer.verdict, key=report.key, amount=answer.amount
        )
        return
    note_transaction(result.transaction.id)
    if tracing.active is not None:
        tracing.active.note_callback(result.transaction.id, name, report.answer.verdict)
    if not (report.is_signed and result.transaction.status.is_final):
        parts.network_work.wake_querier(name)
