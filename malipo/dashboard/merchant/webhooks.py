"""APIs & Secrets: the base URL, and webhook endpoints: add, change, pause, delete, rotate the secret."""

from collections.abc import Sequence

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.merchant import confirmed_act
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import base_url, id_in
from malipo.errors import Conflict
from malipo.validation.fields import Fields
from malipo.webhooks import manage_endpoints, rotate_secrets
from malipo.webhooks.disable_endpoint import FAILED_TOO_LONG, GONE
from malipo.webhooks.endpoint import MOST_PER_MERCHANT, OVERLAP, Endpoint, events_in
from malipo.webhooks.manage_endpoints import NoSuchEndpoint
from malipo.webhooks.store import endpoints

PATH = "/dashboard/webhooks"

# Why a worker has disabled an endpoint, as it is stored.
SENTENCES = (GONE, FAILED_TOO_LONG)

_MOST_URL = 2000
_OVERLAP_HOURS = int(OVERLAP.total_seconds() // 3600)


async def show(request: MerchantRequest) -> Response:
    found = await request.parts.queries.read(lambda connection: endpoints.find_all(connection, request.merchant_id))
    return render.page(
        request,
        "merchant/webhooks/list.html",
        endpoints=found,
        now=request.parts.clock(),
        base_url=base_url(request),
        header=f"x-{request.parts.settings.header_word.lower()}-signature",
        is_full=len(found) >= MOST_PER_MERCHANT,
        most=MOST_PER_MERCHANT,
    )


async def show_new_form(request: MerchantRequest) -> Response:
    return _form(request, None, "", [])


async def create(request: MerchantRequest) -> Response:
    """The answer is the page with the secret. It cannot be a redirect: the secret is in the clear only now."""
    form = await request.form()
    fields, url, events = await _read(request, form)
    if fields.mistakes:
        return _form(request, None, form.text("url"), form.all("events"), fields)
    try:
        endpoint, secret = await request.parts.queries.write(
            lambda tx: manage_endpoints.register(
                tx,
                request.merchant_id,
                url=url,
                events=events,
                encryption=request.parts.webhooks.encryption,
                actor=request.actor,
                now=request.parts.clock(),
            )
        )
    except Conflict as refusal:
        return _form(request, None, url, events, refusal=refusal)
    return _secret(request, endpoint, secret, status=201)


async def show_change_form(request: MerchantRequest) -> Response:
    endpoint = await get(request)
    return _form(request, endpoint, endpoint.url, endpoint.events)


async def change(request: MerchantRequest) -> Response:
    form = await request.form()
    endpoint = await get(request)
    fields, url, events = await _read(request, form)
    if fields.mistakes:
        return _form(request, endpoint, form.text("url"), form.all("events"), fields)
    await _change(request, endpoint.id, url=url, events=events)
    return request.go(f"{PATH}/{endpoint.id}", "webhook-changed")


async def pause(request: MerchantRequest) -> Response:
    await request.form()
    endpoint = await _change(request, id_in(request), is_active=False)
    return request.go(f"{PATH}/{endpoint.id}", "webhook-paused")


async def resume(request: MerchantRequest) -> Response:
    """Enable the endpoint again. Events of the time in between were not sent: the page offers to recover them."""
    await request.form()
    before = await get(request)
    await _change(request, before.id, is_active=True)
    missed_since = min((at for at in (before.failing_since, before.disabled_at) if at is not None), default=None)
    if before.is_active or missed_since is None:
        return request.go(f"{PATH}/{before.id}", "webhook-resumed")
    since = f"{missed_since.astimezone(ZONE):%Y-%m-%dT%H:%M}"
    return request.go(f"{PATH}/{before.id}/recover?since={since}", "webhook-resumed")


async def confirm_delete(request: MerchantRequest) -> Response:
    return render.page(request, "merchant/webhooks/delete.html", endpoint=await get(request))


async def delete(request: MerchantRequest) -> Response:
    await confirmed_act.act_on(request, manage_endpoints.delete)
    return request.go(PATH, "webhook-deleted")


async def confirm_rotate(request: MerchantRequest) -> Response:
    endpoint = await get(request)
    if endpoint.is_rotating(request.parts.clock()):
        return request.go(f"{PATH}/{endpoint.id}")
    return render.page(request, "merchant/webhooks/rotate_secret.html", endpoint=endpoint, hours=_OVERLAP_HOURS)


async def rotate(request: MerchantRequest) -> Response:
    await request.form()
    endpoint, secret = await request.parts.queries.write(
        lambda tx: rotate_secrets.rotate(
            tx,
            request.merchant_id,
            id_in(request),
            encryption=request.parts.webhooks.encryption,
            actor=request.actor,
            now=request.parts.clock(),
        )
    )
    return _secret(request, endpoint, secret)


async def confirm_finish(request: MerchantRequest) -> Response:
    endpoint = await get(request)
    if endpoint.next_secret is None:
        return request.go(f"{PATH}/{endpoint.id}")
    return render.page(request, "merchant/webhooks/finish_rotation.html", endpoint=endpoint)


async def finish(request: MerchantRequest) -> Response:
    id_ = await confirmed_act.act_on(request, rotate_secrets.finish_rotation)
    return request.go(f"{PATH}/{id_}", "rotation-finished")


async def get(request: MerchantRequest) -> Endpoint:
    id_ = id_in(request)
    endpoint = await request.parts.queries.read(lambda connection: endpoints.get(connection, request.merchant_id, id_))
    if endpoint is None:
        raise NoSuchEndpoint
    return endpoint


async def _change(
    request: MerchantRequest,
    id_: str,
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    is_active: bool | None = None,
) -> Endpoint:
    changed = await request.parts.queries.write(
        lambda tx: manage_endpoints.change(
            tx,
            request.merchant_id,
            id_,
            url=url,
            events=events,
            is_active=is_active,
            actor=request.actor,
            now=request.parts.clock(),
        )
    )
    request.parts.webhooks.wake_sender()
    return changed


async def _read(request: MerchantRequest, form: Form) -> tuple[Fields, str, list[str]]:
    fields = Fields({"url": form.text("url"), "events": form.all("events")})
    url = fields.required_text("url", most=_MOST_URL)
    if not fields.mistakes and (problem := await request.parts.webhooks.client.problem_with(url)):
        fields.wrong("url", "url_invalid", problem)
    return fields, url, events_in(fields)


def _form(
    request: MerchantRequest,
    endpoint: Endpoint | None,
    url: str,
    events: Sequence[str],
    fields: Fields | None = None,
    refusal: Conflict | None = None,
) -> Response:
    problems: dict[str, str | Sequence[str]] = dict(form_errors.in_words(request.words, fields)) if fields else {}
    if fields and (wrong := fields.problem) and wrong.details and problems.get("url"):
        # Why a URL is refused is for the receiver's developer, and in English only.
        problems["url"] = [str(problems["url"]), *wrong.details["url"]]
    if refusal is not None:
        problems[""] = form_errors.of_refusal(request.words, refusal)
    status = 409 if refusal else 400 if problems else 200
    return render.page(
        request,
        "merchant/webhooks/edit.html",
        status=status,
        endpoint=endpoint,
        url=url,
        chosen=events,
        problems=problems,
    )


def _secret(request: MerchantRequest, endpoint: Endpoint, secret: str, *, status: int = 200) -> Response:
    return render.page(
        request, "merchant/webhooks/secret.html", status=status, endpoint=endpoint, secret=secret, hours=_OVERLAP_HOURS
    )
