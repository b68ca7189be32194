"""API keys: the list, a new one, which is shown once, and taking one back."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from starlette.responses import Response

from malipo.dashboard import draw, mistakes
from malipo.dashboard.language import ZONE
from malipo.dashboard.place import base_url, id_in
from malipo.dashboard.visit import Form, Visit
from malipo.fields import Fields
from malipo.merchants import issue
from malipo.merchants.issue import NoSuchKey, TooManyKeys
from malipo.merchants.keys import MOST_PER_MERCHANT, AddressRange, Environment, Permission, StoredKey
from malipo.merchants.store import keys

PATH = "/dashboard/keys"

_BETWEEN_ADDRESSES = re.compile(r"[\s,;]+")
_LAST_MOMENT = time(23, 59, 59)


async def show(visit: Visit) -> Response:
    found = await visit.service.read(lambda connection: keys.find_all(connection, visit.merchant_id))
    return draw.page(
        visit,
        "keys.html",
        keys=[(each, _addresses(each.ip_allowlist)) for each in found[::-1]],
        now=visit.service.clock(),
        is_full=len(found) >= MOST_PER_MERCHANT,
        most=MOST_PER_MERCHANT,
    )


async def ask_for_new(visit: Visit) -> Response:
    return _form(visit, {"permissions": [Permission.PAYMENTS_READ], "environment": Environment.LIVE}, {})


async def create(visit: Visit) -> Response:
    """The answer is the page with the key. It cannot be a redirect: the key is nowhere else."""
    form = await visit.form()
    fields, now = _fields(form), visit.service.clock()
    name = fields.required_text("name", most=100)
    permissions = fields.choices("permissions", Permission)
    environment = fields.choice("environment", Environment) or Environment.LIVE
    addresses = fields.networks("addresses")
    expires_at = _end_of_day(fields, now)
    if fields.mistakes:
        return _form(visit, _typed(form), mistakes.in_words(visit.words, fields))
    try:
        key = await visit.service.write(
            lambda tx: issue.create_key(
                tx,
                visit.merchant_id,
                name=name,
                permissions=permissions,
                environment=environment,
                brand=visit.service.settings.key_prefix,
                actor=visit.actor,
                now=now,
                expires_at=expires_at,
                ip_allowlist=addresses,
            )
        )
    except TooManyKeys as refusal:
        return _form(visit, _typed(form), {"": mistakes.of_refusal(visit.words, refusal)}, status=409)
    addresses_shown = _addresses(key.ip_allowlist)
    return draw.page(visit, "keys_made.html", status=201, key=key, addresses=addresses_shown, base_url=base_url(visit))


async def ask_to_revoke(visit: Visit) -> Response:
    return draw.page(visit, "keys_revoke.html", key=await _get(visit))


async def revoke(visit: Visit) -> Response:
    await visit.form()
    key_id = id_in(visit)
    await visit.service.write(
        lambda tx: issue.revoke_key(tx, visit.merchant_id, key_id, actor=visit.actor, now=visit.service.clock())
    )
    return visit.go(PATH, "key-revoked")


async def _get(visit: Visit) -> StoredKey:
    key_id = id_in(visit)
    found = await visit.service.read(lambda connection: keys.find_all(connection, visit.merchant_id))
    for key in found:
        if key.id == key_id:
            return key
    raise NoSuchKey


def _addresses(ranges: Sequence[AddressRange]) -> str:
    """A network of one address is written as that address."""
    return ", ".join(str(each[0]) if each.num_addresses == 1 else str(each) for each in ranges)


def _form(visit: Visit, typed: Mapping[str, object], problems: Mapping[str, str], *, status: int = 200) -> Response:
    empty = {"name": "", "permissions": [], "environment": "", "expires": "", "addresses": ""}
    today = visit.service.clock().astimezone(ZONE).date()
    return draw.page(
        visit,
        "keys_new.html",
        status=400 if problems and status == 200 else status,
        typed=empty | dict(typed),
        problems=problems,
        today=today.isoformat(),
    )


def _typed(form: Form) -> dict[str, object]:
    texts = {name: form.text(name) for name in ("name", "environment", "expires", "addresses")}
    return texts | {"permissions": form.all("permissions")}


def _fields(form: Form) -> Fields:
    return Fields(
        {
            "name": form.text("name"),
            "permissions": form.all("permissions"),
            "environment": form.text("environment") or None,
            "expires": form.text("expires") or None,
            "addresses": [each for each in _BETWEEN_ADDRESSES.split(form.text("addresses")) if each],
        }
    )


def _end_of_day(fields: Fields, now: datetime) -> datetime | None:
    """A key that expires on a day is good until that day ends in Dar es Salaam."""
    text = fields.raw("expires")
    if text is None:
        return None
    try:
        ends_at = datetime.combine(date.fromisoformat(text), _LAST_MOMENT, ZONE)
        if ends_at > now:
            return ends_at
    except (ValueError, OverflowError):
        pass
    fields.wrong("expires", "date_invalid", "expires must be a day that has not passed.")
    return None
