"""What must be true of refunds: none is lost, and no customer gets more back than was collected."""

from collections.abc import Callable, Collection

from simulation.book import Book
from simulation.plan import Payment
from simulation.refunds.merchant_refunds import Refunds

Found = Callable[[str, str, str | None], None]

# Phones whose network calls a payment FAILED and pays it all the same: see docs/simulator.md. A second refund may have
# been sent by then.
_PAID_AFTER_ALL = ("110", "111")


def check(
    payment: Payment,
    told: Refunds,
    book: Book,
    *,
    ids: Collection[str],
    mistaken: Collection[str],
    is_in_lost_time: Callable[[float], bool],
    find: Found,
) -> None:
    for id_, at in zip(told.ids, told.acknowledged_at, strict=True):
        if id_ not in ids and not is_in_lost_time(at):
            find("lost", f"a refund of {payment.key} was acknowledged as {id_}, which is not there", id_)
    for status in told.troubles:
        find("broke", f"a refund of {payment.key} was answered with {status}", None)
    given_back = book.paid_to(payment.phone)
    # A refund that operators wrongly called failed may be made once more: nothing can keep people from that.
    most = payment.amount * (1 + sum(id_ in mistaken for id_ in told.ids))
    if payment.refund and given_back > most and payment.phone[-3:] not in _PAID_AFTER_ALL:
        what = f"{payment.phone} paid {payment.amount} and got {given_back} back"
        find("refunded", what, told.ids[0] if told.ids else None)
