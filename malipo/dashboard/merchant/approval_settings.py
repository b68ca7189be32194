"""The rules of approval, which an owner changes with the password: who approves a batch, and which payouts need it."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from starlette.responses import Response

from malipo import money
from malipo.accounts import four_eyes as pairs
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant import people as people_pages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Refusal
from malipo.merchants import four_eyes, manage_people
from malipo.merchants.change_approval_rules import NothingWaits, change_approval_rules, confirm_approval_rules
from malipo.merchants.people import Person
from malipo.merchants.roles import Right, Role
from malipo.merchants.store import approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules, CurrentRules
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
    rules, now = ApprovalRules(typed["takesTwo"] == "yes", above), request.parts.clock()
    holds = await request.parts.queries.write(
        lambda tx: change_approval_rules(tx, request.merchant_id, rules, actor=request.actor, now=now)
    )
    return request.go(PATH, "approval-changed" if holds else "approval-waits")


async def confirm(request: MerchantRequest) -> Response:
    """A second owner agrees with weaker rules that the first has asked for."""
    form = await request.form()
    now = request.parts.clock()
    try:
        seen = datetime.fromisoformat(form.text("seen"))
        await request.parts.queries.write(
            lambda tx: confirm_approval_rules(tx, request.merchant_id, seen, actor=request.actor, now=now)
        )
    except ValueError:
        return await _page(request, problem=form_errors.sentence(request.words, NothingWaits.code), status=409)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, problem=problem, status=form_errors.status_of(refusal))
    return request.go(PATH, "approval-changed")


async def allow(request: MerchantRequest) -> Response:
    """Whether somebody of the staff may approve what others submit."""
    form = await request.form()
    is_allowed, now = form.text("allowed") == "yes", request.parts.clock()

    async def act(tx: Tx) -> None:
        person = await people_pages.get(tx, request)
        await manage_people.allow_approval(tx, person, is_allowed, actor=request.actor, now=now)

    try:
        await request.parts.queries.write(act)
    except (Conflict, four_eyes.NotVouchedFor) as refusal:
        return await people_pages.refused(request, refusal)
    # To the top of the page, where the notice stands.
    return request.go(PATH, "approval-allowed" if is_allowed else "approval-taken-back")


class _RulesAndPeople(NamedTuple):
    current: CurrentRules
    people: list[Person]
    resets: list[CredentialReset]


async def _page(
    request: MerchantRequest,
    typed: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
    *,
    problem: str | None = None,
    status: int = 200,
) -> Response:
    now = request.parts.clock()

    async def find(connection: Conn) -> _RulesAndPeople:
        return _RulesAndPeople(
            await approval_rules.find(connection, request.merchant_id, now=now),
            await people.find_all(connection, request.merchant_id),
            await four_eyes.find_open(connection, request.merchant_id, now=now),
        )

    facts = await request.parts.queries.read_snapshot(find)
    rules, waiting = facts.current
    may_confirm = waiting is not None and pairs.are_two(facts.resets, waiting.requested_by, request.person.email)
    return render.page(
        request,
        "merchant/settings/approval.html",
        status=400 if problems else status,
        typed=typed or {"takesTwo": "yes" if rules.takes_two else "no", "above": _amount(rules)},
        problems=problems or {},
        problem=problem,
        current={"takesTwo": "yes" if rules.takes_two else "no", "above": _amount(rules)},
        waiting=waiting,
        may_confirm=may_confirm,
        people=[each for each in facts.people if each.role is not Role.VIEWER],
        counts_from={each.account: each.reset_at + pairs.COOLING_TIME for each in facts.resets},
        approvers=sum(each.may(Right.APPROVE) for each in facts.people),
        owners=len(four_eyes.owners_who_count(facts.people, facts.resets)),
    )


def _amount(rules: ApprovalRules) -> str:
    return "" if rules.above is None else f"{rules.above:,}"
