"""ClickPesa's statement of the account, with our references from its lists of payments and payouts.

The statement has none of our references, and the lists have payments that are not in the account yet. So we take the
lines from the statement, and from the lists only which payment a line is of. One account serves every channel.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from malipo import clock
from malipo.networks.connector import Answer
from malipo.networks.http.client import Reply, text_of
from malipo.networks.statement_source import CannotFetch, FetchedLine, fields_of, list_in, moment, shillings

Get = Callable[[str], Awaitable[Reply | Answer]]

PAGE = 100
_SIGNS = {"credit": 1, "debit": -1}


class _Payment(NamedTuple):
    key: str
    phone: str
    amount: int


async def statement(get: Get, *, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
    # It is asked by date. In which zone a date begins is not said: a day more on each side holds every line.
    first, last = clock.day_of(begins) - timedelta(days=1), clock.day_of(ends) + timedelta(days=1)
    dates = f"startDate={first}&endDate={last}"
    payments = {
        id_: payment
        for kind in ("payments", "payouts")
        for id_, payment in (await _listed(get, f"/{kind}/all?{dates}", kind)).items()
    }
    source = "The statement"
    fields = fields_of(await get(f"/account/statement?currency=TZS&{dates}"), source)
    for each in list_in(fields, "transactions", source):
        line = _line(each, source, payments)
        if begins <= line.moved_at < ends:
            yield line


async def _listed(get: Get, path: str, kind: str) -> dict[str, _Payment]:
    found: dict[str, _Payment] = {}
    total, has = 0, 0
    while True:
        source = f"The list of {kind} from {has}"
        fields = fields_of(await get(f"{path}&skip={has}&limit={PAGE}"), source)
        total, page = shillings(fields.get("totalCount"), f"{source}, totalCount"), list_in(fields, "data", source)
        has += len(page)
        found |= {text_of(each.get("id")): _payment(each) for each in page}
        if not page or has >= total:
            break
    if has != total or len(found) != total:
        raise CannotFetch(f"The list of {kind} has {len(found)}, and says that there are {total}.")
    return found


def _payment(fields: dict[str, Any]) -> _Payment:
    order, beneficiary = fields.get("order"), fields.get("beneficiary")
    account = beneficiary.get("accountNumber") if isinstance(beneficiary, dict) else None
    amount = fields.get("collectedAmount")
    if amount is None and isinstance(order, dict):
        amount = order.get("amount")  # A payout's own amount has their fee in it.
    return _Payment(
        key=text_of(fields.get("orderReference")),
        phone=text_of(fields.get("paymentPhoneNumber") or account),
        amount=shillings(amount, f"The amount of {text_of(fields.get('id'))}"),
    )


def _line(fields: dict[str, Any], source: str, payments: dict[str, _Payment]) -> FetchedLine:
    id_, entry = text_of(fields.get("id")), text_of(fields.get("entry")).lower()
    if not id_ or entry not in _SIGNS:
        raise CannotFetch(f"{source} has a line that is neither Credit nor Debit, or has no id.")
    amount = shillings(fields.get("amount"), f"{source}, {id_}")
    # A fee may have the id of its payment, but is not the payment.
    payment = payments.get(id_)
    is_it = payment is not None and payment.amount == amount
    return FetchedLine(
        receipt=id_,
        moved_at=moment(fields.get("date"), f"{source}, {id_}"),
        amount=_SIGNS[entry] * amount,
        key=payment.key if payment is not None and is_it else "",
        phone=payment.phone if payment is not None and is_it else "",
        details=text_of(fields.get("description")),
    )
