"""APIs & Secrets: where we are found, and the merchant's endpoints: new, changed, paused, deleted, a new secret."""

from collections.abc import Sequence

from starlette.responses import Response

from malipo.dashboard import draw, mistakes
from malipo.dashboard.language import ZONE
from malipo.dashboard.place import base_url, id_in
from malipo.dashboard.visit import Form, Visit
from malipo.errors import Conflict
from malipo.fields import Fields
from malipo.webhooks import register
from malipo.webhooks.deliver import GIVEN_UP, GONE
from malipo.webhooks.endpoint import MOST_PER_MERCHANT, OVERLAP, Endpoint, events_in
from malipo.webhooks.register import NoSuchEndpoint
from malipo.webhooks.store import endpoints

PATH = "/dashboard/webhooks"

# Why an endpoint was switched off, as its worker has written it down.
SENTENCES = (GONE, GIVEN_UP)

_MOST_URL = 2000
_OVERLAP_HOURS = int(OVERLAP.total_seconds() // 3600)


async def show(visit: Visit) -> Response:
    found = await visit.service.read(lambda connection: endpoints.find_all(connection, visit.merchant_id))
    return draw.page(
        visit,
        "webhooks.html",
        endpoints=found,
        now=visit.service.clock(),
        base_url=base_url(visit),
        header=f"x-{visit.service.settings.header_word.lower()}-signature",
        is_full=len(found) >= MOST_PER_MERCHANT,
        most=MOST_PER_MERCHANT,
    )


async def ask_for_new(visit: Visit) -> Response:
    return _form(visit, None, "", [])


async def create(visit: Visit) -> Response:
    """The answer is the page with the secret. It cannot be a redirect: the secret is in the clear only now."""
    form = await visit.form()
    fields, url, events = await _read(visit, form)
    if fields.mistakes:
        return _form(visit, None, form.text("url"), form.all("events"), fields)
    try:
        endpoint, secret = await visit.service.write(
            lambda tx: register.register(
                tx,
                visit.merchant_id,
                url=url,
                events=events,
                seal=visit.service.seal,
                actor=visit.actor,
                now=visit.service.clock(),
            )
        )
    except Conflict as refusal:
        return _form(visit, None, url, events, refusal=refusal)
    return _secret(visit, endpoint, secret, status=201)


async def ask_for_changes(visit: Visit) -> Response:
    endpoint = await get(visit)
    return _form(visit, endpoint, endpoint.url, endpoint.events)


async def change(visit: Visit) -> Response:
    form = await visit.form()
    endpoint = await get(visit)
    fields, url, events = await _read(visit, form)
    if fields.mistakes:
        return _form(visit, endpoint, form.text("url"), form.all("events"), fields)
    await _change(visit, endpoint.id, url=url, events=events)
    return visit.go(f"{PATH}/{endpoint.id}", "webhook-changed")


async def pause(visit: Visit) -> Response:
    await visit.form()
    endpoint = await _change(visit, id_in(visit), is_active=False)
    return visit.go(f"{PATH}/{endpoint.id}", "webhook-paused")


async def resume(visit: Visit) -> Response:
    """What happened meanwhile was not sent: whoever resumes is asked whether they want it."""
    await visit.form()
    before = await get(visit)
    await _change(visit, before.id, is_active=True)
    missed_since = min((at for at in (before.failing_since, before.switched_off_at) if at is not None), default=None)
    if before.is_active or missed_since is None:
        return visit.go(f"{PATH}/{before.id}", "webhook-resumed")
    since = f"{missed_since.astimezone(ZONE):%Y-%m-%dT%H:%M}"
    return visit.go(f"{PATH}/{before.id}/recover?since={since}", "webhook-resumed")


async def ask_to_delete(visit: Visit) -> Response:
    return draw.page(visit, "webhooks_delete.html", endpoint=await get(visit))


async def delete(visit: Visit) -> Response:
    await visit.form()
    id_ = id_in(visit)
    await visit.service.write(
        lambda tx: register.delete(tx, visit.merchant_id, id_, actor=visit.actor, now=visit.service.clock())
    )
    return visit.go(PATH, "webhook-deleted")


async def ask_to_rotate(visit: Visit) -> Response:
    endpoint = await get(visit)
    if endpoint.is_rotating(visit.service.clock()):
        return visit.go(f"{PATH}/{endpoint.id}")
    return draw.page(visit, "webhooks_rotate.html", endpoint=endpoint, hours=_OVERLAP_HOURS)


async def rotate(visit: Visit) -> Response:
    await visit.form()
    endpoint, secret = await visit.service.write(
        lambda tx: register.rotate(
            tx,
            visit.merchant_id,
            id_in(visit),
            seal=visit.service.seal,
            actor=visit.actor,
            now=visit.service.clock(),
        )
    )
    return _secret(visit, endpoint, secret)


async def ask_to_finish(visit: Visit) -> Response:
    endpoint = await get(visit)
    if endpoint.next_secret is None:
        return visit.go(f"{PATH}/{endpoint.id}")
    return draw.page(visit, "webhooks_finish.html", endpoint=endpoint)


async def finish(visit: Visit) -> Response:
    await visit.form()
    id_ = id_in(visit)
    await visit.service.write(
        lambda tx: register.finish_rotation(tx, visit.merchant_id, id_, actor=visit.actor, now=visit.service.clock())
    )
    return visit.go(f"{PATH}/{id_}", "rotation-finished")


async def get(visit: Visit) -> Endpoint:
    id_ = id_in(visit)
    endpoint = await visit.service.read(lambda connection: endpoints.get(connection, visit.merchant_id, id_))
    if endpoint is None:
        raise NoSuchEndpoint
    return endpoint


async def _change(
    visit: Visit,
    id_: str,
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    is_active: bool | None = None,
) -> Endpoint:
    changed = await visit.service.write(
        lambda tx: register.change(
            tx,
            visit.merchant_id,
            id_,
            url=url,
            events=events,
            is_active=is_active,
            actor=visit.actor,
            now=visit.service.clock(),
        )
    )
    visit.service.wake_deliveries()
    return changed


async def _read(visit: Visit, form: Form) -> tuple[Fields, str, list[str]]:
    fields = Fields({"url": form.text("url"), "events": form.all("events")})
    url = fields.required_text("url", most=_MOST_URL)
    if not fields.mistakes and (problem := await visit.service.post.problem_with(url)):
        fields.wrong("url", "url_invalid", problem)
    return fields, url, events_in(fields)


def _form(
    visit: Visit,
    endpoint: Endpoint | None,
    url: str,
    events: Sequence[str],
    fields: Fields | None = None,
    refusal: Conflict | None = None,
) -> Response:
    problems: dict[str, str | Sequence[str]] = dict(mistakes.in_words(visit.words, fields)) if fields else {}
    if fields and (wrong := fields.problem) and wrong.details and problems.get("url"):
        # Why a URL will not do is for whoever runs the server there, and said in English only.
        problems["url"] = [str(problems["url"]), *wrong.details["url"]]
    if refusal is not None:
        problems[""] = mistakes.of_refusal(visit.words, refusal)
    status = 409 if refusal else 400 if problems else 200
    return draw.page(
        visit, "webhooks_edit.html", status=status, endpoint=endpoint, url=url, chosen=events, problems=problems
    )


def _secret(visit: Visit, endpoint: Endpoint, secret: str, *, status: int = 200) -> Response:
    return draw.page(
        visit, "webhooks_secret.html", status=status, endpoint=endpoint, secret=secret, hours=_OVERLAP_HOURS
    )
