"""API keys: the list, a new one, which is shown once, changing and revoking one."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.merchant import confirmed_act
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import base_url, id_in
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import (
    MOST_PER_MERCHANT,
    PAYING,
    AddressRange,
    Environment,
    KeyTerms,
    Permission,
    StoredKey,
    narrowed,
)
from malipo.merchants.change_api_key import KeyChanged, KeyChanges, PermissionsGrow, change_key, code_of
from malipo.merchants.four_eyes import NotVouchedFor
from malipo.merchants.issue_api_keys import NoSuchKey, TooManyKeys
from malipo.merchants.store import api_keys
from malipo.validation.fields import Fields
from malipo.validation.payout_limits import payout_limits_in
from malipo.validation.typed_values import amount_of

PATH = "/dashboard/keys"

# The usual kinds of programs, with the permissions of a key for each. The form offers these first.
PRESETS = {
    "web_shop": (Permission.PAYMENTS_READ, Permission.PAYMENTS_COLLECT),
    "payroll": (
        Permission.PAYMENTS_READ,
        Permission.PAYMENTS_DISBURSE,
        Permission.RECIPIENTS_LOOKUP,
        Permission.WALLET_READ,
    ),
    "reports": (Permission.PAYMENTS_READ, Permission.WALLET_READ, Permission.EVENTS_READ),
}
_CUSTOM = "custom"

_BETWEEN_ADDRESSES = re.compile(r"[\s,;]+")
_LAST_MOMENT = time(23, 59, 59)
_TEXTS = ("name", "environment", "expires", "addresses", "payoutLimit", "dailyPayoutLimit")


async def show(request: MerchantRequest) -> Response:
    found = await request.parts.queries.read(lambda connection: api_keys.find_all(connection, request.merchant_id))
    return render.page(
        request,
        "merchant/api_keys/list.html",
        keys=[(each, _addresses(each.ip_allowlist)) for each in found[::-1]],
        now=request.parts.clock(),
        is_full=len(found) >= MOST_PER_MERCHANT,
        most=MOST_PER_MERCHANT,
    )


async def show_new_form(request: MerchantRequest) -> Response:
    first = {"preset": "web_shop", "permissions": [Permission.PAYMENTS_READ], "environment": Environment.LIVE}
    return _form(request, first, {})


async def create(request: MerchantRequest) -> Response:
    """The answer is the page with the key. It cannot be a redirect: the key is nowhere else."""
    form = await request.form()
    fields, now = _fields(form), request.parts.clock()
    name = fields.required_text("name", most=100, is_line=True)
    permissions = PRESETS.get(form.text("preset")) or fields.choices("permissions", Permission)
    environment = fields.choice("environment", Environment) or Environment.LIVE
    addresses = fields.networks("addresses")
    # A form of a use that pays nothing out does not show the limits.
    has_limits = form.text("preset") not in PRESETS or not PAYING.isdisjoint(permissions)
    payout_limit, daily_payout_limit = payout_limits_in(fields) if has_limits else (None, None)
    expires_at = _end_of_day(fields, now)
    if fields.mistakes:
        return _form(request, _typed(form), form_errors.in_words(request.words, fields))
    terms = KeyTerms(
        name=name,
        permissions=tuple(permissions),
        environment=environment,
        brand=request.parts.settings.key_prefix,
        expires_at=expires_at,
        ip_allowlist=tuple(map(str, addresses)),
        payout_limit=payout_limit,
        daily_payout_limit=daily_payout_limit,
    )
    try:
        key = await request.parts.queries.write(
            lambda tx: issue_api_keys.create_key(tx, request.merchant_id, terms, actor=request.actor, now=now)
        )
    except (TooManyKeys, NotVouchedFor) as refusal:
        problems = {"": form_errors.of_refusal(request.words, refusal)}
        return _form(request, _typed(form), problems, status=form_errors.status_of(refusal))
    addresses_shown = _addresses(key.ip_allowlist)
    return render.page(
        request,
        "merchant/api_keys/created.html",
        status=201,
        key=key,
        addresses=addresses_shown,
        base_url=base_url(request),
    )


async def show_change_form(request: MerchantRequest) -> Response:
    return _change_form(request, await _get(request))


async def change(request: MerchantRequest) -> Response:
    form = await request.form()
    key, fields = await _find(request), _fields(form)
    if key is None:
        return await _gone(request)
    changes = KeyChanges(
        name=fields.required_text("name", most=100, is_line=True),
        permissions=tuple(fields.choices("permissions", Permission)),
    )
    changes["payout_limit"], changes["daily_payout_limit"] = payout_limits_in(fields)
    if fields.mistakes:
        return _change_form(request, key, form, form_errors.in_words(request.words, fields))
    try:
        await request.parts.queries.write(
            lambda tx: change_key(
                tx,
                request.merchant_id,
                key.id,
                changes,
                actor=request.actor,
                now=request.parts.clock(),
                seen=form.text("seen"),
            )
        )
    except NoSuchKey:
        return await _gone(request)
    except PermissionsGrow as refusal:
        problems = {"permissions": form_errors.of_refusal(request.words, refusal)}
        return _change_form(request, key, form, problems, status=form_errors.status_of(refusal))
    # Somebody else has saved meanwhile: the form shows their values, not those typed over them.
    except KeyChanged as refusal:
        problems = {"": form_errors.of_refusal(request.words, refusal)}
        return _change_form(request, await _get(request), None, problems, status=form_errors.status_of(refusal))
    except NotVouchedFor as refusal:
        problems = {"": form_errors.of_refusal(request.words, refusal)}
        return _change_form(request, key, form, problems, status=form_errors.status_of(refusal))
    return request.go(PATH, "key-changed")


async def confirm_revoke(request: MerchantRequest) -> Response:
    return render.page(request, "merchant/api_keys/revoke.html", key=await _get(request))


async def revoke(request: MerchantRequest) -> Response:
    await confirmed_act.act_on(request, issue_api_keys.revoke_key)
    return request.go(PATH, "key-revoked")


async def _get(request: MerchantRequest) -> StoredKey:
    if (key := await _find(request)) is None:
        raise NoSuchKey
    return key


async def _find(request: MerchantRequest) -> StoredKey | None:
    key_id = id_in(request)
    found = await request.parts.queries.read(lambda connection: api_keys.find_all(connection, request.merchant_id))
    return next((key for key in found if key.id == key_id), None)


async def _gone(request: MerchantRequest) -> Response:
    """Somebody has revoked the key since the form was opened; or it was never theirs."""
    key_id = id_in(request)
    known = await request.parts.queries.read(
        lambda connection: api_keys.find_names(connection, request.merchant_id, [key_id])
    )
    if not known:
        raise NoSuchKey
    return request.go(PATH, "key-gone")


def _addresses(ranges: Sequence[AddressRange]) -> str:
    """A network of one address is written as that address."""
    return ", ".join(str(each[0]) if each.num_addresses == 1 else str(each) for each in ranges)


def _form(
    request: MerchantRequest, typed: Mapping[str, object], problems: Mapping[str, str], *, status: int = 200
) -> Response:
    empty: dict[str, object] = dict.fromkeys(_TEXTS, "") | {"permissions": [], "preset": _CUSTOM}
    today = request.parts.clock().astimezone(ZONE).date()
    return render.page(
        request,
        "merchant/api_keys/new.html",
        status=400 if problems and status == 200 else status,
        typed=empty | dict(typed),
        problems=problems,
        today=today.isoformat(),
    )


def _change_form(
    request: MerchantRequest,
    key: StoredKey,
    form: Form | None = None,
    problems: Mapping[str, str] | None = None,
    *,
    status: int = 200,
) -> Response:
    """The form for changing a key, with the typed values; at first with those of the key."""
    limits = {"payoutLimit": key.payout_limit, "dailyPayoutLimit": key.daily_payout_limit}
    shown = {name: "" if limit is None else f"{limit:,}" for name, limit in limits.items()}
    return render.page(
        request,
        "merchant/api_keys/edit.html",
        status=400 if problems and status == 200 else status,
        key=key,
        # A form that was sent with a mistake in it is still about the key that it was opened with.
        seen=code_of(key) if form is None else form.text("seen"),
        offered=narrowed(key.permissions),
        typed={"name": key.name, "permissions": key.permissions} | shown if form is None else _typed(form),
        problems=problems or {},
    )


def _typed(form: Form) -> dict[str, object]:
    texts = {name: form.text(name) for name in _TEXTS}
    return texts | {"permissions": form.all("permissions"), "preset": form.text("preset") or _CUSTOM}


def _fields(form: Form) -> Fields:
    return Fields(
        {
            "name": form.text("name"),
            "permissions": form.all("permissions"),
            "environment": form.text("environment") or None,
            "expires": form.text("expires") or None,
            "payoutLimit": amount_of(form.text("payoutLimit")) or None,
            "dailyPayoutLimit": amount_of(form.text("dailyPayoutLimit")) or None,
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
