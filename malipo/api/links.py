"""/v1/links: make, read and cancel payment links."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import header_of
from malipo.api.responses import pagination, replayed, success
from malipo.api.shown_after_commit import read_after_commit, require_changed
from malipo.api.urls import id_in
from malipo.db import Conn
from malipo.http.public_url import public_url
from malipo.links import link_json
from malipo.links.cancel import LinkCancellation
from malipo.links.link import LatePayment, Link, LinkStatus, NoSuchLink
from malipo.links.link_request import link_request_of
from malipo.links.store import links
from malipo.merchants.check_api_key import Caller
from malipo.payments import idempotency
from malipo.validation.fields import Fields


async def create(parts: ApiParts, caller: Caller, request: Request) -> Response:
    link_request = link_request_of(
        Fields(await object_of(request)),
        caller.merchant_id,
        key=header_of(request, idempotency.HEADER),
        terms=parts.payments.terms,
        now=parts.clock(),
        created_by=caller.key_id,
    )
    result = await parts.links.create(link_request)
    headers = replayed(result.link.status) if result.is_replay else None
    link = link_json.created(result.link, _url(parts, request, result.link))
    return success({"link": link}, status=201, headers=headers)


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    status = fields.choice("status", LinkStatus)
    page, limit = fields.page(), fields.limit()
    fields.check()

    async def find(connection: Conn) -> tuple[int, list[Link], dict[links.Key, list[LatePayment]]]:
        total, found = await links.find_page(connection, caller.merchant_id, status=status, page=page, limit=limit)
        late = await links.find_late(connection, [(each.merchant_id, each.id) for each in found])
        return total, found, late

    total, found, late = await parts.queries.read_snapshot(find)
    shown = [
        link_json.shown(each, _url(parts, request, each), late.get((each.merchant_id, each.id), ())) for each in found
    ]
    return success({"links": shown, "pagination": pagination(total, page=page, limit=limit)})


async def retrieve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    return _shown(parts, request, *await _find(parts, caller, id_in(request, NoSuchLink)))


async def cancel(parts: ApiParts, caller: Caller, request: Request) -> Response:
    cancellation = LinkCancellation(caller.merchant_id, id_in(request, NoSuchLink), caller.key_id)
    cancelled = await parts.links.cancel(cancellation)
    link, late = await read_after_commit(_find(parts, caller, cancelled.id))
    require_changed(link.status is not LinkStatus.ACTIVE)
    return _shown(parts, request, link, late)


async def _find(parts: ApiParts, caller: Caller, link_id: str) -> tuple[Link, list[LatePayment]]:
    key = (caller.merchant_id, link_id)

    async def find(connection: Conn) -> tuple[Link | None, list[LatePayment]]:
        return await links.get(connection, *key), (await links.find_late(connection, [key])).get(key, [])

    link, late = await parts.queries.read_snapshot(find)
    if link is None:
        raise NoSuchLink
    return link, late


def _shown(parts: ApiParts, request: Request, link: Link, late: list[LatePayment]) -> Response:
    return success({"link": link_json.shown(link, _url(parts, request, link), late)})


def _url(parts: ApiParts, request: Request, link: Link) -> str:
    return link_json.url_of(public_url(parts.settings, request), link)
