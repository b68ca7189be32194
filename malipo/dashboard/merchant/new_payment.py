"""A new collection or payout: a form, a confirmation page, and one payment, however often it is sent.

The idempotency key is generated with the form and sent with it: a double click, a reload, or going back and pressing
again are the same request, and make the same payment.
"""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace
from starlette.responses import Response

from malipo import phone as phones
from malipo.accounts.reauthentication import ConfirmationRequired, SensitiveAct
from malipo.dashboard import form_errors, reauthentication_pages, render
from malipo.dashboard.forms import Form
from malipo.dashboard.merchant import account_holder
from malipo.dashboard.merchant.account_holder import check_name
from malipo.dashboard.merchant.batches import single_payout
from malipo.dashboard.merchant.batches.upload import PATH as BATCHES
from malipo.dashboard.merchant.duplicate_warning_sentences import RepeatWarning, warnings_of
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
from malipo.dashboard.merchant.transaction_list import PATH
from malipo.db import Conn
from malipo.errors import Unavailable
from malipo.http.request_ids import enter_payment, note_transaction
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.networks.channel_names_and_prefixes import PROFILES, channel_of, choice_for
from malipo.networks.connector import Channel
from malipo.payments import idempotency, retry_failed_payment
from malipo.payments.batches.store import items as batch_items
from malipo.payments.duplicate_warnings import Repeat, repeats_of
from malipo.payments.fees import fee_of
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import InsufficientBalance, PaymentRequest
from malipo.payments.limits.person_limits import ApprovalRequired, PersonLimit
from malipo.payments.payment_request import payment_request_of
from malipo.payments.store import idempotency_keys, possible_duplicates, tariffs, transactions
from malipo.payments.transaction import Transaction, Type
from malipo.recipients.look_up import Payee
from malipo.restore.installation import IntakeClosed
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of, phone_of

_ID = re.compile(r"txn_[0-9a-z]{26}")
_PARTIES = {Type.COLLECTION: "buyer", Type.DISBURSEMENT: "recipient"}
_TYPED = ("amount", "channel", "phone", "name", "description", "orderReference")
_CHOSEN_FOR = "chosenFor"  # the last whole number that the network was chosen for


async def show_collection(request: MerchantRequest) -> Response:
    return await _show(request, Type.COLLECTION)


async def show_payout(request: MerchantRequest) -> Response:
    return await _show(request, Type.DISBURSEMENT)


async def _show(request: MerchantRequest, type_: Type) -> Response:
    """Show an empty form, or one with the fields of a failed payment, to be tried again."""
    failed_id = request.http.query_params.get("again", "")
    if not failed_id:
        return await _form(request, type_, {}, new_key())
    failed, attempt = await request.parts.queries.read_snapshot(
        lambda connection: _find_failed(connection, request.merchant_id, failed_id, type_)
    )
    if failed is None or attempt is None:
        return request.go(f"{PATH}/{failed_id}" if _ID.fullmatch(failed_id) else PATH, "not-again")
    if attempt.made is not None:
        return request.go(f"{PATH}/{attempt.made.id}", "made-again")
    if attempt.submitted is not None:
        return request.go(f"{BATCHES}/{attempt.submitted.id}", "made-again")
    typed = {
        "amount": f"{failed.amount:,}",
        "channel": "" if channel_of(failed.phone) is failed.channel else failed.channel,
        "phone": phones.spaced(failed.phone),
        "name": failed.name,
        "description": failed.description,
        "orderReference": failed.order_reference or "",
    }
    return await _form(request, type_, typed, attempt.key)


async def _find_failed(
    connection: Conn, merchant_id: str, failed_id: str, type_: Type
) -> tuple[Transaction | None, retry_failed_payment.PaymentRetry | None]:
    """A payment that may be tried again, and the attempt; None for one that may not."""
    failed = await transactions.get(connection, merchant_id, failed_id) if _ID.fullmatch(failed_id) else None
    if failed is None or failed.type is not type_ or not await retry_failed_payment.may_retry(connection, failed):
        return None, None
    return failed, await retry_failed_payment.find_attempt(connection, failed)


async def take_collection(request: MerchantRequest) -> Response:
    return await _take(request, Type.COLLECTION)


async def take_payout(request: MerchantRequest) -> Response:
    return await _take(request, Type.DISBURSEMENT)


async def show_recipient(request: MerchantRequest) -> Response:
    """Show the name behind the number. The page fetches this part of the form while the user types."""
    form = await request.form()
    fields = _fields(_with_channel({name: form.text(name) for name in _TYPED}), Type.DISBURSEMENT)
    channel, phone = fields.choice("channel", Channel, is_required=True), fields.phone("recipientPhone")
    name = fields.text("recipientName", most=100)
    if channel is None or fields.problem is not None:
        return Response(status_code=204)
    return await account_holder.show(request, Payee(channel, phone, name))


async def _take(request: MerchantRequest, type_: Type) -> Response:
    form = await request.form()
    typed = {name: form.text(name) for name in _TYPED}
    step, key = form.text("step"), form.text("key")
    if idempotency.problem_with(key) is not None:
        # Without its key it could be made twice, so the form is shown again.
        step, key = "review", new_key()
    typed |= {"channel": _choice(form, typed)}
    typed[_CHOSEN_FOR] = typed["phone"] if phones.is_valid(phone_of(typed["phone"])) else form.text(_CHOSEN_FOR)
    if step == "change":
        return await _form(request, type_, typed, key)
    # Exactly the payment shown on "Is this right?" is made: that page sends the network that it has shown.
    shown = {"channel": form.text("shown")} if step == "pay" and form.text("shown") else {}
    fields = _fields(_with_channel(typed | shown), type_)
    wanted = _request_in(request, fields, type_, key)
    if wanted.draft is None:
        return await _form(request, type_, typed, key, problems=_problems(request, fields, type_, typed))
    if step != "pay":
        return await _decide(request, wanted, wanted.draft, typed, seen=None)
    if (refused := await _why_not_again(request, key, type_)) is not None:
        return refused
    return await _decide(request, wanted, wanted.draft, typed, seen=frozenset(form.all("seen")))


def _choice(form: Form, typed: Mapping[str, str]) -> str:
    """By the number again, if the number was changed to one of another network after the choice."""
    return choice_for(
        typed["channel"],
        phone_of(typed["phone"]),
        chosen_before=form.text("chosen"),
        phone_before=phone_of(form.text(_CHOSEN_FOR)),
    )


def _with_channel(typed: dict[str, str]) -> dict[str, str]:
    """Where no network is chosen: the one that has first given the number out, if that is known."""
    suggested = channel_of(phone_of(typed["phone"])) if not typed["channel"] else None
    return typed if suggested is None else typed | {"channel": suggested.value}


async def _why_not_again(request: MerchantRequest, key: str, type_: Type) -> Response | None:
    """Why this retry is refused: the failed payment may have been corrected since the form was shown."""
    failed_id = retry_failed_payment.failed_in(key)
    if failed_id is None:
        return None
    failed, _ = await request.parts.queries.read_snapshot(
        lambda connection: _find_failed(connection, request.merchant_id, failed_id, type_)
    )
    return request.go(f"{PATH}/{failed_id}", "not-again") if failed is None else None


async def _decide(
    request: MerchantRequest,
    wanted: PaymentRequest,
    draft: Transaction,
    typed: Mapping[str, str],
    *,
    seen: Collection[str] | None,
) -> Response:
    """Show the confirmation page, or make the payment. Do neither if this form has made its payment already, or if the
    balance is too low. `seen` are the payments that the confirmed page warned of; a newer one is shown first."""
    look = await request.parts.queries.read_snapshot(
        lambda connection: _look(connection, wanted, draft, now=request.parts.clock())
    )
    quote = look.quote
    wanted = replace(wanted, approval_limit=look.limit)
    assert wanted.key is not None
    if look.made is not None:
        return await _again(request, typed, *look.made)
    if look.submitted is not None:
        return request.go(look.submitted, "batch-once")
    if draft.type is Type.DISBURSEMENT and quote.leaves > quote.wallet.spendable:
        return await _form(request, draft.type, typed, wanted.key, problems={"amount": too_little(request, quote)})
    warned = warnings_of(request.words, draft, look.repeats, look.awaiting)
    if seen is None or any(each.id not in seen for each in warned):
        return await _confirm(request, draft, typed, wanted.key, quote, warned)
    enter_payment(draft.id)
    try:
        if quote.needs_approval:
            return request.go(*await single_payout.submit(request, wanted))
        initiated = await request.parts.payments.initiate(wanted)
    except ConfirmationRequired:
        question = await reauthentication_pages.ask(request, SensitiveAct.PAYOUT)
        return question or await _decide(request, replace(wanted, payout_limits=None), draft, typed, seen=seen)
    except ApprovalRequired:
        # Other payouts of this person have used up the allowance. The confirmed payout is submitted for approval
        # instead, and no money moves yet.
        return request.go(*await single_payout.submit(request, wanted))
    except (InsufficientBalance, KeyReused):
        # The balance has changed, or this form was sent in another window. Check again, and ask for confirmation.
        return await _decide(request, wanted, draft, typed, seen=None)
    except IntakeClosed as closed:
        why = form_errors.sentence(request.words, closed.code)
        return await _confirm(request, draft, typed, wanted.key, quote, warned, problem=why, status=503)
    except Unavailable:
        in_doubt = request.words(IN_DOUBT)
        return await _confirm(request, draft, typed, wanted.key, quote, warned, problem=in_doubt, status=503)
    note_transaction(initiated.transaction.id, is_new=not initiated.is_replay)
    return request.go(f"{PATH}/{initiated.transaction.id}", "payment-once" if initiated.is_replay else None)


async def _again(
    request: MerchantRequest, typed: Mapping[str, str], transaction: Transaction, is_same: bool
) -> Response:
    """The form has made its payment. Sent again it redirects there; with other values it is shown as a new form."""
    if is_same:
        return request.go(f"{PATH}/{transaction.id}", "payment-once")
    return await _form(request, transaction.type, typed, new_key(), made=transaction, status=409)


class _Look(NamedTuple):
    made: tuple[Transaction, bool] | None  # what this form has made already, and whether it asks for the same now
    submitted: str | None  # the page of what it has submitted for approval
    quote: Quote
    repeats: list[Repeat]
    awaiting: str | None = None  # the batch in which the same payout awaits approval
    limit: PersonLimit | None = None  # what this person may pay out alone


async def _look(connection: Conn, wanted: PaymentRequest, draft: Transaction, *, now: datetime) -> _Look:
    key, place = wanted.idempotency_key, (draft.merchant_id, draft.type, draft.channel)
    assert key is not None
    assert wanted.key is not None
    used = (await idempotency_keys.find(connection, [key])).get(key)
    bands = await tariffs.find_for(connection, [place])
    wallet, _ = await wallets.get(connection, draft.merchant_id)
    made = None if used is None else (used[1], used[0].request_hash == wanted.request_hash)
    submitted = await single_payout.find_submitted(connection, draft.merchant_id, wanted.key)
    quote = quote_of(draft, fee_of(draft.amount, bands.get(place, ())), wallet)
    same = repeats_of(draft, await possible_duplicates.find(connection, draft, now=now), now=now)
    if draft.type is not Type.DISBURSEMENT:
        return _Look(made, submitted, quote, same)
    assert draft.created_by is not None, "a form is somebody's"
    allowance = await single_payout.find_allowance(connection, draft.merchant_id, draft.created_by, now=now)
    quote = dataclasses.replace(quote, needs_approval=not allowance.is_enough_for(draft.amount))
    awaiting = await batch_items.find_awaiting(connection, draft.merchant_id, [draft.phone])
    return _Look(made, submitted, quote, same, awaiting.get((draft.phone, draft.amount)), allowance.limit)


async def _form(
    request: MerchantRequest,
    type_: Type,
    typed: Mapping[str, str],
    key: str,
    *,
    problems: Mapping[str, str] | None = None,
    made: Transaction | None = None,
    status: int = 200,
) -> Response:
    failed_id = retry_failed_payment.failed_in(key)

    async def find(connection: Conn) -> tuple[Wallet, Transaction | None]:
        failed = None if failed_id is None else await transactions.get(connection, request.merchant_id, failed_id)
        return (await wallets.get(connection, request.merchant_id))[0], failed

    wallet, failed = await request.parts.queries.read_snapshot(find)
    page = render.page(
        request,
        "merchant/new_payment/form.html",
        status=400 if problems else status,
        is_payout=type_ is Type.DISBURSEMENT,
        typed={name: typed.get(name, "") for name in _TYPED},
        chosen_for=typed.get(_CHOSEN_FOR) or typed.get("phone", ""),
        key=key,
        problems=problems or {},
        made=made,
        wallet=wallet,
        failed=failed,
        prefixes={channel.value: [each[4:] for each in profile.prefixes] for channel, profile in PROFILES.items()},
        channels=[(channel, profile.name) for channel, profile in PROFILES.items()],
        lookups=[channel for channel in Channel if request.parts.recipients.can_look_up(channel)],
    )
    return kept(page)


async def _confirm(
    request: MerchantRequest,
    draft: Transaction,
    typed: Mapping[str, str],
    key: str,
    quote: Quote,
    warned: Sequence[RepeatWarning],
    *,
    problem: str | None = None,
    status: int = 200,
) -> Response:
    check = None
    if draft.type is Type.DISBURSEMENT:
        check = await check_name(request, Payee(draft.channel, draft.phone, draft.name or ""))
    page = render.page(
        request,
        "merchant/new_payment/confirm.html",
        status=status,
        is_payout=draft.type is Type.DISBURSEMENT,
        draft=draft,
        typed={name: typed[name] for name in _TYPED},
        key=key,
        quote=quote,
        warned=warned,
        under_way=next((each for each in warned if each.is_under_way), None),
        network=PROFILES[draft.channel].name,
        usual=_usual_network(draft),
        is_by_number=not typed["channel"],
        check=check,
        problem=problem,
    )
    return kept(page)


def _usual_network(draft: Transaction) -> str | None:
    """The network that first assigned this number, if that is another one: a warning, not an error."""
    usual = channel_of(draft.phone)
    return None if usual in (None, draft.channel) else PROFILES[usual].name


def _fields(typed: Mapping[str, str], type_: Type) -> Fields:
    party = _PARTIES[type_]
    values = {
        "amount": amount_of(typed["amount"]),
        "channel": typed["channel"],
        f"{party}Phone": phone_of(typed["phone"]),
        f"{party}Name": typed["name"],
        "description": typed["description"],
        "orderReference": typed["orderReference"],
    }
    return Fields({name: value for name, value in values.items() if value != ""})


def _request_in(request: MerchantRequest, fields: Fields, type_: Type, key: str) -> PaymentRequest:
    parts = request.parts
    wanted = payment_request_of(
        fields,
        type_,
        request.merchant_id,
        key=key,
        terms=parts.payments.terms,
        now=parts.clock(),
        actor=request.actor,
        created_by=request.actor.name,
        payout_limits=limit_of_person(request),
    )
    if wanted.draft is None or type_ is not Type.DISBURSEMENT:
        return wanted
    return replace(wanted, draft=replace(wanted.draft, retry_of=retry_failed_payment.failed_in(key)))


def _problems(request: MerchantRequest, fields: Fields, type_: Type, typed: Mapping[str, str]) -> dict[str, str]:
    """By the names that the form has for its fields."""
    party = _PARTIES[type_]
    names = {f"{party}Phone": "phone", f"{party}Name": "name"}
    mistakes = form_errors.in_words(request.words, fields)
    problems = {names.get(name, name): sentence for name, sentence in mistakes.items()}
    if "phone" in problems and not typed["channel"]:
        # The network is taken from the number, so only the number is wrong.
        problems.pop("channel", None)
    if "channel" in problems:
        # A choice is not filled in, so its sentence differs.
        problems["channel"] = form_errors.sentence(request.words, "channel_invalid")
    return problems
