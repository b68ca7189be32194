"""The warnings of the page "Is this right?" about a payment that may be a second one of the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from malipo import money
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant.batches.upload import PATH as BATCHES
from malipo.dashboard.merchant.transaction_list import PATH
from malipo.payments.duplicate_warnings import Repeat, RepeatKind
from malipo.payments.transaction import Transaction, Type

_COLLECTION = {
    RepeatKind.UNDER_WAY: "You already asked this number for {amount}: {at}. It is not answered yet.",
    RepeatKind.ORDER_UNDER_WAY: "{amount} was already asked for {order}: {at}. It is not answered yet.",
    RepeatKind.ORDER_PAID: "{order} is already paid: {amount}, {at}.",
    RepeatKind.PAID: "This number already paid you {amount}: {at}.",
}
_PAYOUT = {
    RepeatKind.UNDER_WAY: "A payout of {amount} to this number is already on its way, since {at}.",
    RepeatKind.ORDER_UNDER_WAY: "A payout of {amount} for {order} is already on its way, since {at}.",
    RepeatKind.ORDER_PAID: "{order} is already paid out: {amount}, {at}.",
    RepeatKind.PAID: "You already paid this number {amount}: {at}.",
}
_AWAITED = "A payout of {amount} to this number already awaits approval."
SENTENCES = (*_COLLECTION.values(), *_PAYOUT.values(), _AWAITED)


@dataclass(frozen=True, slots=True)
class RepeatWarning:
    words: str
    id: str  # of the payment, or of the batch
    path: str
    is_under_way: bool  # then it is looked at first


def warnings_of(
    words: Translator, draft: Transaction, repeats: Sequence[Repeat], batch_id: str | None
) -> list[RepeatWarning]:
    """`batch_id`: of one in which the same payout awaits approval."""
    sentences = _PAYOUT if draft.type is Type.DISBURSEMENT else _COLLECTION
    found = [
        RepeatWarning(
            words(
                sentences[each.kind],
                amount=money.display(each.earlier.amount),
                at=words.moment(each.earlier.ended_at or each.earlier.created_at),
                order=each.earlier.order_reference or "",
            ),
            each.earlier.id,
            f"{PATH}/{each.earlier.id}",
            each.is_under_way,
        )
        for each in repeats
    ]
    if batch_id is not None:
        warning = words(_AWAITED, amount=money.display(draft.amount))
        found.insert(0, RepeatWarning(warning, batch_id, f"{BATCHES}/{batch_id}", is_under_way=True))
    return found
