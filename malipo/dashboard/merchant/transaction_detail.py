"""One transaction: its details, its timeline, and cancelling it while that is possible."""

import re

import msgspec
from starlette.responses import Response

from malipo import money
from malipo.dashboard import render
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.timeline import TimelineEntry, timeline
from malipo.dashboard.merchant.transaction_list import PATH
from malipo.db import Conn
from malipo.http.public_url import public_url
from malipo.http.request_ids import note_transaction
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.payments import retry_failed_payment
from malipo.payments.cancel import AskedFirst, Cancellation, NotCancellable
from malipo.payments.refunds import refundable
from malipo.payments.retry_failed_payment import PaymentRetry
from malipo.payments.store import creators, network_answers, refunds, transactions
from malipo.payments.store import timeline as history
from malipo.payments.store.creators import Creator
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.transaction import CorrectionNotice, CorrectionReason, NoSuchTransaction, Status, Transaction
from malipo.receipts.find_receipt import find_token

_SENT = "It was too late to cancel: it was already on its way to {network}."
_ENDED = "It was too late to cancel: it had already ended."
_ASKED_FIRST = (
    "It cannot be cancelled yet: the service was restored from a backup, and this payment may have been sent to "
    "{network} before. The service asks {network}; if it cannot say, the operators of the service decide. Try again in "
    "some minutes."
)
_PAID = "{network} now says that it was paid."
_UNPAID = "{network} now says that it was not paid, or given back."
# The outcome of the latest correction.
_CORRECTED = {
    CorrectionReason.CREDITED: ("good", "{amount} was added to your wallet."),
    CorrectionReason.DEBT_RECORDED: (
        "bad",
        "{amount} is owed: you cannot spend it until operators have decided.",
    ),
    CorrectionReason.DEBT_COLLECTED: ("bad", "{amount} that was owed was taken from your wallet."),
    CorrectionReason.DEBT_WAIVED: ("good", "{amount} that was owed need not be given back."),
    CorrectionReason.DEBT_WITHDRAWN: ("good", "So {amount} is no longer owed."),
}
SENTENCES = (_SENT, _ENDED, _ASKED_FIRST, _PAID, _UNPAID, *(words for _, words in _CORRECTED.values()))
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def confirm_cancel(request: MerchantRequest) -> Response:
    """The confirmation page; nothing is cancelled yet."""
    name = name_in(request)
    transaction = await request.parts.queries.read(lambda connection: _get(connection, request.merchant_id, name))
    note_transaction(transaction.id)
    if transaction.status is not Status.PENDING:
        return request.go(f"{PATH}/{transaction.id}")
    return render.page(
        request, "merchant/transaction_cancel.html", transaction=transaction, network=PROFILES[transaction.channel].name
    )


async def cancel(request: MerchantRequest) -> Response:
    await request.form()
    try:
        transaction = await request.parts.payments.cancel(
            Cancellation(request.merchant_id, name_in(request), actor=request.actor)
        )
    except NotCancellable:
        return await _page(request, is_too_late=True)
    except AskedFirst:
        return await _page(request, problem=_ASKED_FIRST)
    note_transaction(transaction.id)
    return request.go(f"{PATH}/{transaction.id}", "payment-cancelled")


async def _page(request: MerchantRequest, *, is_too_late: bool = False, problem: str | None = None) -> Response:
    name = name_in(request)
    refunded, entries, creator, attempt, token = await request.parts.queries.read_snapshot(
        lambda connection: _everything(connection, request.merchant_id, name)
    )
    transaction = refunded.payment
    left = refundable.amount_of(transaction, refunded.correction, refunded.refunds, wanted=None)
    note_transaction(transaction.id)
    network = PROFILES[transaction.channel].name
    if is_too_late:
        problem = _ENDED if transaction.status.is_final else _SENT
    return render.page(
        request,
        "merchant/transaction.html",
        status=200 if problem is None else 409,
        transaction=transaction,
        entries=entries[::-1],
        creator=creator,
        attempt=attempt,
        network=network,
        problem=None if problem is None else request.words(problem, network=network),
        refunded_amount=sum(each.amount for each in refunded.refunds if each.is_paid),
        left_to_refund=left if isinstance(left, int) else None,
        corrected=_corrected(request.words, transaction.correction, network),
        receipt=None if token is None else f"{public_url(request.parts.settings, request.http)}/receipt/{token}",
        metadata=[(key, _shown(value)) for key, value in transaction.metadata.items()],
    )


async def _everything(
    connection: Conn, merchant_id: str, name: str
) -> tuple[PaymentWithRefunds, list[TimelineEntry], Creator | None, PaymentRetry | None, str | None]:
    """The payment with its refunds, if it has any; its timeline; who created it; how it may be tried again; and the
    token of its receipt."""
    transaction = await _get(connection, merchant_id, name)
    refunded = (await refunds.find(connection, [(merchant_id, transaction.id)]))[merchant_id, transaction.id]
    entries = timeline(
        transaction,
        await network_answers.find(connection, merchant_id, transaction.id),
        await history.find_booked(connection, merchant_id, transaction.id),
        await history.find_delivery_attempts(connection, merchant_id, transaction.id),
        await transactions.find_by_ids(connection, merchant_id, [each.id for each in refunded.refunds]),
    )
    creator = await creators.find(connection, merchant_id, transaction.id)
    may_retry = await retry_failed_payment.may_retry(connection, transaction)
    attempt = await retry_failed_payment.find_attempt(connection, transaction) if may_retry else None
    token = await find_token(connection, transaction)
    return refunded._replace(payment=transaction), entries, creator, attempt, token


async def _get(connection: Conn, merchant_id: str, name: str) -> Transaction:
    transaction = await transactions.get(connection, merchant_id, name)
    if transaction is None:
        raise NoSuchTransaction
    return transaction


def _corrected(words: Translator, notice: CorrectionNotice | None, network: str) -> tuple[str, str] | None:
    """The latest correction: how it looks, and in words."""
    if notice is None:
        return None
    tone, came = _CORRECTED[notice.reason]
    says = words(_PAID if notice.outcome is Status.COMPLETED else _UNPAID, network=network)
    return tone, f"{says} {words(came, amount=money.display(notice.amount))}"


def name_in(request: MerchantRequest) -> str:
    """The id or reference in the path. A text that can be neither is refused without a query."""
    name: str = request.http.path_params["id"]
    if not _NAME.fullmatch(name):
        raise NoSuchTransaction
    return name


def _shown(value: object) -> str:
    """Text unchanged; any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
