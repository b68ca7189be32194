"""The rules of approval, which an owner changes with the password: who approves a batch, and which payouts need it."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo import money
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant import people as people_pages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn, Tx
from malipo.errors import Conflict
from malipo.merchants import manage_people
from malipo.merchants.change_approval_rules import change_approval_rules
from malipo.merchants.people import Person
from malipo.merchants.roles import Right, Role
from malipo.merchants.store import approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of

PATH = "/dashboard/settings/approval"


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def change(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {"takesTwo": "no" if form.text("takesTwo") == "no" else "yes", "above": form.text("above")}
    fields = Fields({"above": amount_of(typed["above"]) if typed["above"] else None})
    above = fields.amount("above", least=0, most=money.LARGEST) if typed["above"] else None
    if fields.mistakes:
        return await _page(request, typed, form_errors.in_words(request.words, fields))
    rules, now = ApprovalRules(typed["takesTwo"] == "yes", above), request.service.clock()
    await request.service.write(
        lambda tx: change_approval_rules(tx, request.merchant_id, rules, actor=request.actor, now=now)
    )
    return request.go(PATH, "approval-changed")


async def allow(request: MerchantRequest) -> Response:
    """Whether somebody of the staff may approve what others submit."""
    form = await request.form()
    is_allowed, now = form.text("allowed") == "yes", request.service.clock()

    async def act(tx: Tx) -> None:
        person = await people_pages.get(tx, request)
        await manage_people.allow_approval(tx, person, is_allowed, actor=request.actor, now=now)

    try:
        await request.service.write(act)
    except Conflict as refusal:
        return await people_pages.page(request, problem=form_errors.of_refusal(request.words, refusal), status=409)
    return request.go(f"{PATH}#people", "approval-changed")


async def _page(
    request: MerchantRequest, typed: Mapping[str, str] | None = None, problems: Mapping[str, str] | None = None
) -> Response:
    async def find(connection: Conn) -> tuple[ApprovalRules, list[Person]]:
        rules = await approval_rules.get(connection, request.merchant_id)
        return rules, await people.find_all(connection, request.merchant_id)

    rules, found = await request.service.read_snapshot(find)
    above = "" if rules.above is None else f"{rules.above:,}"
    return render.page(
        request,
        "merchant/settings/approval.html",
        status=400 if problems else 200,
        typed=typed or {"takesTwo": "yes" if rules.takes_two else "no", "above": above},
        problems=problems or {},
        people=[each for each in found if each.role is not Role.VIEWER],
        approvers=sum(each.may(Right.APPROVE) for each in found),
    )
