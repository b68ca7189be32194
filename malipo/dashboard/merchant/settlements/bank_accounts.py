"""The pages of a merchant's bank accounts: an owner adds one with password and code, operators verify it, and each
owner can stop it.

A person who can change the destination of withdrawals could take all the money, so a password alone is not enough: an
owner without two-step log-in sets it up first.
"""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.second_factor import OWN
from malipo.dashboard.urls import id_in
from malipo.db import Conn
from malipo.errors import Refusal
from malipo.settlement import manage_bank_accounts, release
from malipo.settlement.bank_account import BankAccount, NoSuchBankAccount
from malipo.settlement.banks import BANKS
from malipo.settlement.manage_bank_accounts import PATH as PATH
from malipo.settlement.manage_bank_accounts import bank_account_of
from malipo.settlement.store import bank_accounts, schedules
from malipo.validation.fields import Fields

_TYPED = ("bank", "bic", "accountNumber", "holderName", "replaces")
_OTHER = "other"  # instead of a bank of the list


async def show(request: MerchantRequest) -> Response:
    async def find(connection: Conn) -> tuple[list[BankAccount], bool, bool]:
        accounts = await bank_accounts.find_of(connection, request.merchant_id)
        schedule = await schedules.find(connection, request.merchant_id)
        is_held = any(each.held_since for each in accounts) or (schedule is not None and schedule.is_paused)
        return accounts, is_held, await release.is_released(connection)

    (found, is_held, is_released), now = await request.parts.queries.read_snapshot(find), request.parts.clock()
    return render.page(
        request,
        "merchant/settlements/bank_accounts.html",
        accounts=[(each, each.status(now)) for each in found],
        names={each.id: f"{each.bank} {each.masked_number}" for each in found},
        now=now,
        is_held=is_held,
        is_released=is_released,
        wait_hours=request.parts.settings.bank_account_wait_hours,
    )


async def show_new_form(request: MerchantRequest) -> Response:
    return await _form(request, {})


async def add(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in _TYPED}
    if not request.has_second_factor:
        return await _form(request, typed, status=403)
    bic = typed["bic"] if typed["bank"] == _OTHER else typed["bank"]
    fields, now = (
        Fields({name: value for name, value in (typed | {"bic": bic}).items() if value}),
        request.parts.clock(),
    )
    account = bank_account_of(fields, request.merchant_id, by=request.person.email, now=now)
    if fields.mistakes:
        problems = form_errors.in_words(request.words, fields)
        if typed["bank"] != _OTHER and "bic" in problems:
            problems["bank"] = problems.pop("bic")
        return await _form(request, typed, problems, status=400)
    try:
        await request.parts.queries.write(
            lambda tx: manage_bank_accounts.add(tx, account, actor=request.actor, now=now)
        )
    except Refusal as refusal:
        problems = {"": form_errors.of_refusal(request.words, refusal)}
        return await _form(request, typed, problems, status=form_errors.status_of(refusal))
    return request.go(PATH, "bank-account-added")


async def confirm_stop(request: MerchantRequest) -> Response:
    account_id = id_in(request)
    found = await request.parts.queries.read(
        lambda connection: bank_accounts.get(connection, request.merchant_id, account_id)
    )
    if found is None:
        raise NoSuchBankAccount
    if not found.may_be_stopped:
        return request.go(PATH)
    return render.page(
        request,
        "merchant/settlements/bank_account_stop.html",
        bank_account=found,
        has_replaced=found.has_replaced(request.parts.clock()),
    )


async def stop(request: MerchantRequest) -> Response:
    await request.form()
    account_id, now = id_in(request), request.parts.clock()
    await request.parts.queries.write(
        lambda tx: manage_bank_accounts.stop(
            tx, account_id, merchant_id=request.merchant_id, actor=request.actor, now=now
        )
    )
    return request.go(PATH, "bank-account-stopped")


async def confirm(request: MerchantRequest) -> Response:
    """After a restore: the account is still right."""
    await request.form()
    account_id, now = id_in(request), request.parts.clock()
    await request.parts.queries.write(
        lambda tx: manage_bank_accounts.confirm(
            tx, account_id, merchant_id=request.merchant_id, actor=request.actor, now=now
        )
    )
    return request.go(PATH, "bank-account-confirmed")


async def _find(request: MerchantRequest) -> list[BankAccount]:
    return await request.parts.queries.read(lambda connection: bank_accounts.find_of(connection, request.merchant_id))


async def _form(
    request: MerchantRequest,
    typed: Mapping[str, str],
    problems: Mapping[str, str] | None = None,
    *,
    status: int = 200,
) -> Response:
    now = request.parts.clock()
    replaceable = [each for each in await _find(request) if each.may_be_stopped and each.replaced_from is None]
    return render.page(
        request,
        "merchant/settlements/bank_account_new.html",
        status=status,
        typed={name: typed.get(name, "") for name in _TYPED},
        problems=problems or {},
        banks=[(bic, name) for bic, name in sorted(BANKS.items(), key=lambda each: each[1].lower())],
        other=_OTHER,
        replaceable=[(each.id, f"{each.bank} {each.masked_number}") for each in replaceable],
        has_second_factor=request.has_second_factor,
        second_factor=OWN.path,
        wait_hours=request.parts.settings.bank_account_wait_hours,
        now=now,
    )
