"""Refunds a collection: a form with what is left, a confirmation page, and one refund, however often it is sent.

Its idempotency key comes with the form, as for a new payment. Whatever has changed meanwhile, the lock of the
collection decides: then nothing is refunded, and the collection's page shows why.
"""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace
from starlette.responses import Response

from malipo.accounts.reauthentication import ConfirmationRequired, SensitiveAct
from malipo.dashboard import form_errors, reauthentication_pages, render
from malipo.dashboard.merchant.batches import single_payout
from malipo.dashboard.merchant.batches.single_payout import Allowance
from malipo.dashboard.merchant.payment_forms import (
    IN_DOUBT,
    Quote,
    kept,
    limit_of_person,
    new_key,
    quote_of,
    too_little,
)
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.transaction_detail import name_in
from malipo.dashboard.merchant.transaction_list import PATH
from malipo.db import Conn
from malipo.errors import Conflict, Invalid, Unavailable
from malipo.http.request_ids import enter_payment, note_transaction
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants.people import Person
from malipo.payments import idempotency
from malipo.payments.fees import Band, fee_of
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import InsufficientBalance, PaymentRequest
from malipo.payments.limits.person_limits import ApprovalRequired
from malipo.payments.refunds import refundable
from malipo.payments.refunds.refund_network_keys import SCOPE
from malipo.payments.refunds.refund_request import refund_request_of
from malipo.payments.store import idempotency_keys, refunds, tariffs, transactions
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.transaction import NoSuchTransaction, Transaction, Type
from malipo.restore.installation import IntakeClosed
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of

_TYPED = ("amount", "reason")


class RefundFacts(NamedTuple):
    """The facts about a collection, and the cost of a refund of it."""

    refunded: PaymentWithRefunds
    wallet: Wallet
    bands: list[Band]
    allowance: Allowance
    made: tuple[bytes, str] | None  # what this form has made already: the hash of its request, and the refund
    submitted: str | None  # the page of what this form has submitted for approval

    @property
    def collection(self) -> Transaction:
        return self.refunded.payment

    def amount(self, wanted: int | None = None) -> int | Conflict | Invalid:
        return refundable.amount_of(*self.refunded, wanted=wanted)


async def show(request: MerchantRequest) -> Response:
    facts = await _look(request, key=None)
    amount = facts.amount()
    if not isinstance(amount, int):
        return request.go(f"{PATH}/{facts.collection.id}")
    return _form(request, facts, {"amount": f"{amount:,}"}, new_key())


async def take(request: MerchantRequest) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in _TYPED}
    step, key = form.text("step"), form.text("key")
    if idempotency.problem_with(key) is not None:
        # Without its key it could be made twice, so the form is shown again.
        step, key = "review", new_key()
    facts = await _look(request, key=key)
    fields = Fields({name: value for name, value in _values(typed).items() if value != ""})
    wanted = _request_in(request, fields, facts.collection, key)
    if facts.made is not None:
        hash_, refund_id = facts.made
        if hash_ == wanted.request_hash:
            return request.go(f"{PATH}/{refund_id}", "payment-once")
        key = new_key()
        wanted, step = _request_in(request, fields, facts.collection, key), "review"
    if facts.submitted is not None:
        return request.go(facts.submitted, "batch-once")
    if step == "change":
        return _form(request, facts, typed, key)
    if wanted.draft is None:
        return _form(request, facts, typed, key, problems=form_errors.in_words(request.words, fields))
    return await _decide(request, facts, wanted, wanted.draft, typed, is_meant=step == "pay")


async def _decide(
    request: MerchantRequest,
    facts: RefundFacts,
    wanted: PaymentRequest,
    draft: Transaction,
    typed: Mapping[str, str],
    *,
    is_meant: bool,
) -> Response:
    """Ask for confirmation, or make it; unless the payment or the wallet has changed."""
    wanted = replace(wanted, approval_limit=facts.allowance.limit)
    assert wanted.key is not None
    amount = facts.amount(draft.amount or None)
    if isinstance(amount, Conflict):
        return request.go(f"{PATH}/{facts.collection.id}", "refund-changed")
    if isinstance(amount, Invalid):
        return _form(request, facts, typed, wanted.key, problems={"amount": _problem_of(request, amount, facts)})
    draft = replace(draft, amount=amount)
    quote = quote_of(draft, fee_of(amount, facts.bands), facts.wallet)
    quote = dataclasses.replace(quote, needs_approval=not facts.allowance.is_enough_for(amount))
    if quote.leaves > quote.wallet.spendable:
        return _form(request, facts, typed, wanted.key, problems={"amount": too_little(request, quote)})
    if not is_meant:
        return _confirm(request, facts, draft, wanted.key, quote)
    enter_payment(draft.id)
    try:
        if quote.needs_approval:
            return request.go(*await single_payout.submit(request, replace(wanted, draft=draft)))
        initiated = await request.parts.payments.initiate(wanted)
    except ConfirmationRequired:
        question = await reauthentication_pages.ask(request, SensitiveAct.PAYOUT)
        if question is not None:
            return question
        confirmed = replace(wanted, payout_limits=None)
        return await _decide(request, facts, confirmed, draft, typed, is_meant=True)
    except ApprovalRequired:
        # Other payouts of this person have used up the allowance. The confirmed refund is submitted for approval
        # instead, and no money moves yet.
        return request.go(*await single_payout.submit(request, replace(wanted, draft=draft)))
    except (InsufficientBalance, KeyReused):
        # The balance has changed, or this form was sent in another window. Check again, and ask for confirmation.
        facts = await _look(request, key=None)
        return await _decide(request, facts, wanted, draft, typed, is_meant=False)
    except (Conflict, Invalid):
        return request.go(f"{PATH}/{facts.collection.id}", "refund-changed")
    except IntakeClosed as closed:
        why = form_errors.sentence(request.words, closed.code)
        return _confirm(request, facts, draft, wanted.key, quote, problem=why, status=503)
    except Unavailable:
        return _confirm(request, facts, draft, wanted.key, quote, problem=request.words(IN_DOUBT), status=503)
    note_transaction(initiated.transaction.id, is_new=not initiated.is_replay)
    return request.go(f"{PATH}/{initiated.transaction.id}", "payment-once" if initiated.is_replay else None)


def _problem_of(request: MerchantRequest, refusal: Invalid, facts: RefundFacts) -> str:
    left = refundable.left_of(facts.collection, facts.refunded.refunds)
    return form_errors.sentence(request.words, refusal.code, {"most": left})


async def _look(request: MerchantRequest, *, key: str | None) -> RefundFacts:
    name, now = name_in(request), request.parts.clock()
    facts = await request.parts.queries.read_snapshot(
        lambda connection: _find(connection, request.person, name, key=key, now=now)
    )
    note_transaction(facts.collection.id)
    return facts


async def _find(connection: Conn, person: Person, name: str, *, key: str | None, now: datetime) -> RefundFacts:
    merchant_id = person.merchant_id
    named = await transactions.get(connection, merchant_id, name)
    if named is None:
        raise NoSuchTransaction
    found = (await refunds.find(connection, [(merchant_id, named.id)]))[merchant_id, named.id]
    place = (merchant_id, Type.DISBURSEMENT, named.channel)
    bands = (await tariffs.find_for(connection, [place])).get(place, [])
    wallet, _ = await wallets.get(connection, merchant_id)
    scoped = (merchant_id, SCOPE, key or "")
    used = (await idempotency_keys.find(connection, [scoped])).get(scoped)
    made = None if used is None else (used[0].request_hash, used[1].id)
    allowance = await single_payout.find_allowance(connection, merchant_id, person.email, now=now)
    submitted = await single_payout.find_submitted(connection, merchant_id, key) if key else None
    return RefundFacts(found, wallet, list(bands), allowance, made, submitted)


def _values(typed: Mapping[str, str]) -> dict[str, int | str]:
    return {"amount": amount_of(typed["amount"]), "reason": typed["reason"]}


def _request_in(request: MerchantRequest, fields: Fields, collection: Transaction, key: str) -> PaymentRequest:
    parts = request.parts
    return refund_request_of(
        fields,
        collection,
        key=key,
        terms=parts.payments.terms,
        now=parts.clock(),
        actor=request.actor,
        created_by=request.actor.name,
        payout_limits=limit_of_person(request),
    )


def _form(
    request: MerchantRequest,
    facts: RefundFacts,
    typed: Mapping[str, str],
    key: str,
    *,
    problems: Mapping[str, str] | None = None,
) -> Response:
    page = render.page(
        request,
        "merchant/refund/form.html",
        status=400 if problems else 200,
        collection=facts.collection,
        left=refundable.left_of(facts.collection, facts.refunded.refunds),
        typed={name: typed.get(name, "") for name in _TYPED},
        key=key,
        problems=problems or {},
        wallet=facts.wallet,
    )
    return kept(page)


def _confirm(
    request: MerchantRequest,
    facts: RefundFacts,
    draft: Transaction,
    key: str,
    quote: Quote,
    *,
    problem: str | None = None,
    status: int = 200,
) -> Response:
    page = render.page(
        request,
        "merchant/refund/confirm.html",
        status=status,
        collection=facts.collection,
        draft=draft,
        # The refund is of the amount that the page showed, or it is refused: never of what is left by then.
        typed={"amount": str(draft.amount), "reason": draft.description},
        key=key,
        quote=quote,
        problem=problem,
    )
    return kept(page)
