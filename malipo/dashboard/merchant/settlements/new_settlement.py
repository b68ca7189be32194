"""Withdraws to the bank: a form with what the wallet can spare, a confirmation page, and one settlement, however often
it is sent.

The idempotency key comes with the form, as for a new payment. What is confirmed is the amount and the account that the
page showed, also where the form left them open.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from starlette.responses import Response

from malipo import clock, money
from malipo.accounts.reauthentication import SensitiveAct
from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.store import holidays
from malipo.dashboard import form_errors, reauthentication_pages, render
from malipo.dashboard.merchant.payment_forms import IN_DOUBT, kept, new_key
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.settlements.settlement_list import PATH, Destinations, noon
from malipo.db import Conn
from malipo.errors import Refusal, Unavailable
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.payments import idempotency
from malipo.payments.idempotency import KeyReused
from malipo.restore.installation import IntakeClosed
from malipo.settlement.bank_account import BankAccount, default_account
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT, whole_amount
from malipo.settlement.settlement_request import SettlementRequest, settlement_request_of
from malipo.settlement.store import bank_accounts, schedules, settlements
from malipo.settlement.store.settlements import UsedKey
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of

NEW = f"{PATH}/new"
_TYPED = ("amount", "bankAccountId", "orderReference")

_TOO_LITTLE = "The wallet can spare {spendable} now, and the least is {least}."
_TOO_MUCH = "The wallet can spare {spendable} now."
_NOT_USABLE = "Choose a bank account that can be used now."
SENTENCES = (_TOO_LITTLE, _TOO_MUCH, _NOT_USABLE)


class WithdrawalFacts(NamedTuple):
    wallet: Wallet
    accounts: list[BankAccount]
    kept: int  # what stays in the wallet by the schedule
    made: UsedKey | None  # what this form has made already
    banking_days: BankingDays

    @property
    def whole(self) -> int:
        """The amount that is withdrawn if the form names none."""
        return whole_amount(self.wallet, self.kept)

    def account(self, wanted: str | None, now: datetime) -> BankAccount | None:
        """Where it would go; None if it cannot."""
        if wanted is None:
            return default_account(self.accounts, now)
        return next((each for each in self.accounts if each.id == wanted and each.is_usable(now)), None)


async def show(request: MerchantRequest) -> Response:
    return _form(request, await _look(request, key=None), {}, new_key())


async def take(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in _TYPED}
    step, key = form.text("step"), form.text("key")
    if idempotency.problem_with(key) is not None:
        # Without its key it could be made twice, so the form is shown again.
        step, key = "review", new_key()
    facts = await _look(request, key=key)
    fields = Fields(_values(typed))
    wanted = _request_in(request, fields, key)
    if facts.made is not None:
        if facts.made.request_hash == wanted.request_hash:
            return request.go(f"{PATH}/{facts.made.settlement.id}", "settlement-once")
        # Somebody went back and changed the form: that is another settlement.
        key, step = new_key(), "review"
        wanted = _request_in(request, fields, key)
    if step == "change":
        return _form(request, facts, typed, key)
    if wanted.draft is None:
        return _form(request, facts, typed, key, problems=form_errors.in_words(request.words, fields))
    account = facts.account(wanted.draft.bank_account_id, request.parts.clock())
    if account is None:
        return _form(request, facts, typed, key, problems={"bankAccountId": request.words(_NOT_USABLE)}, status=409)
    amount = wanted.draft.amount or facts.whole
    if (problem := _problem_with(request, facts, wanted.draft.amount)) is not None:
        return _form(request, facts, typed, key, problems={"amount": problem})
    if step != "pay":
        return _confirm(request, facts, wanted, account, amount)
    question = await reauthentication_pages.ask(request, SensitiveAct.SETTLEMENT)
    return question or await _make(request, facts, wanted, account, typed, amount)


async def _make(
    request: MerchantRequest,
    facts: WithdrawalFacts,
    wanted: SettlementRequest,
    account: BankAccount,
    typed: Mapping[str, str],
    amount: int,
) -> Response:
    try:
        made = await request.parts.settlements.create(wanted)
    except IntakeClosed as closed:
        why = form_errors.sentence(request.words, closed.code)
        return _confirm(request, facts, wanted, account, amount, problem=why, status=503)
    except Unavailable:
        return _confirm(request, facts, wanted, account, amount, problem=request.words(IN_DOUBT), status=503)
    except KeyReused:
        problems = {"": request.words(form_errors.CHANGED)}
        return _form(request, await _look(request, key=None), typed, new_key(), problems=problems, status=409)
    except Refusal as refusal:
        # The wallet or the account has changed since the page was shown.
        problems = {"": form_errors.of_refusal(request.words, refusal)}
        assert wanted.key is not None
        return _form(request, await _look(request, key=None), typed, wanted.key, problems=problems, status=409)
    return request.go(f"{PATH}/{made.settlement.id}", "settlement-once" if made.is_replay else "settlement-requested")


def _problem_with(request: MerchantRequest, facts: WithdrawalFacts, amount: int | None) -> str | None:
    spendable, least = facts.whole if amount is None else facts.wallet.spendable, request.parts.settlements.terms.least
    if spendable < least:
        return request.words(_TOO_LITTLE, spendable=money.display(spendable), least=money.display(least))
    if amount is None:
        return None
    if amount < least:
        return form_errors.sentence(request.words, "amount_too_small", {"least": least})
    return request.words(_TOO_MUCH, spendable=money.display(spendable)) if amount > spendable else None


def _values(typed: Mapping[str, str]) -> dict[str, int | str]:
    values: dict[str, int | str] = {name: value for name, value in typed.items() if value}
    return values | ({"amount": amount_of(typed["amount"])} if typed["amount"] else {})


def _request_in(request: MerchantRequest, fields: Fields, key: str) -> SettlementRequest:
    return settlement_request_of(
        fields,
        request.merchant_id,
        key=key,
        largest=LARGEST_AMOUNT,
        created_by=request.person.email,
        now=request.parts.clock(),
        actor=request.actor,
    )


async def _look(request: MerchantRequest, *, key: str | None) -> WithdrawalFacts:
    merchant_id = request.merchant_id

    async def find(connection: Conn) -> WithdrawalFacts:
        wallet, _ = await wallets.get(connection, merchant_id)
        made = await settlements.find_by_idempotency_key(connection, merchant_id, key) if key else None
        kept = (await schedules.find_kept(connection, [merchant_id])).get(merchant_id, 0)
        accounts = await bank_accounts.find_of(connection, merchant_id)
        return WithdrawalFacts(wallet, accounts, kept, made, await holidays.find_banking_days(connection))

    return await request.parts.queries.read_snapshot(find)


def _form(
    request: MerchantRequest,
    facts: WithdrawalFacts,
    typed: Mapping[str, str],
    key: str,
    *,
    problems: Mapping[str, str] | None = None,
    status: int = 400,
) -> Response:
    now, terms = request.parts.clock(), request.parts.settlements.terms
    destinations = Destinations.of(facts.accounts, now)
    first = default_account(facts.accounts, now)
    shown = {name: typed.get(name, "") for name in _TYPED}
    page = render.page(
        request,
        "merchant/settlements/new.html",
        status=status if problems else 200,
        wallet=facts.wallet,
        whole=facts.whole,
        kept=facts.kept,
        destinations=destinations,
        typed=shown | {"bankAccountId": shown["bankAccountId"] or ("" if first is None else first.id)},
        key=key,
        problems=problems or {},
        terms=terms,
    )
    return kept(page)


def _confirm(
    request: MerchantRequest,
    facts: WithdrawalFacts,
    wanted: SettlementRequest,
    account: BankAccount,
    amount: int,
    *,
    problem: str | None = None,
    status: int = 200,
) -> Response:
    assert wanted.draft is not None
    page = render.page(
        request,
        "merchant/settlements/confirm.html",
        status=status,
        wallet=facts.wallet,
        bank_account=account,
        amount=amount,
        fee=request.parts.settlements.terms.fee,
        order_reference=wanted.draft.order_reference,
        # It is the amount and the account that the page showed, or it is refused.
        typed={
            "amount": str(amount),
            "bankAccountId": account.id,
            "orderReference": wanted.draft.order_reference or "",
        },
        key=wanted.key,
        arrives_by=request.words.day(arrives_by(request.parts.clock(), facts.banking_days)),
        problem=problem,
    )
    return kept(page)


def arrives_by(now: datetime, banking_days: BankingDays) -> datetime:
    """By when the bank has booked it as a rule, if it is in today's file."""
    return noon(banking_days.booked_by(clock.day_of(now)))
