"""Airtel's summary of transactions: page by page, to the end.

It does not say which way money went; that follows from which party is our own number. Only `TS` moved any. Whether its
`id` is ours is not certain, so `airtel_money_id` is the receipt, and `id` only the key. What it calls a charge is not a
line: it does not say whom it was taken from.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any

from malipo.networks.connector import Answer
from malipo.networks.http.client import Reply, receipt_of, text_of
from malipo.networks.statement_source import CannotFetch, FetchedLine, fields_of, list_in, moment, shillings

Get = Callable[[str], Awaitable[Reply | Answer]]

PAGE = 100
_MOVED = "TS"
_DIGITS = 9  # digits of a phone number, without the code of the country


async def summary(
    get: Get, path: str, *, our_number: str, begins: datetime, ends: datetime
) -> AsyncIterator[FetchedLine]:
    """CannotFetch if a page fails, or if they do not make up what they say they are together."""
    seen: set[str] = set()
    counts: list[tuple[int, int]] = []  # of each page: what it says, and how many it has
    while True:
        source, offset = f"Page {len(counts) + 1} of the summary", sum(has for _, has in counts)
        query = f"from={begins.timestamp():.0f}&to={ends.timestamp():.0f}&limit={PAGE}&offset={offset}"
        count, transactions = _page(await get(f"{path}?{query}"), source)
        counts.append((count, len(transactions)))
        if not transactions:
            break
        for each in transactions:
            if text_of(_part(each, "transaction").get("status")).upper() != _MOVED:
                continue
            line = _line(each, source, our_number)
            if line.receipt in seen:
                raise CannotFetch(f"{source}: {line.receipt} came twice. The list changed while it was read.")
            seen.add(line.receipt)
            if begins <= line.moved_at < ends:
                yield line
    _require_whole(counts)


def _require_whole(counts: list[tuple[int, int]]) -> None:
    """Each page says how many there are in all; or, as some read it, how many it has itself."""
    total = sum(has for _, has in counts)
    if any(stated != total for stated, _ in counts) and any(stated != has for stated, has in counts):
        pages = ", ".join(str(each) for each, _ in counts)
        raise CannotFetch(f"The summary has {total} transactions, and its pages say {pages}.")


def _page(reply: Reply | Answer, source: str) -> tuple[int, list[dict[str, Any]]]:
    data = fields_of(reply, source).get("data")
    if not isinstance(data, dict):
        raise CannotFetch(f"{source} has no data.")
    return shillings(data.get("count"), f"{source}, count"), list_in(data, "transactions", source)


def _line(fields: dict[str, Any], source: str, our_number: str) -> FetchedLine:
    transaction = _part(fields, "transaction")
    receipt = receipt_of(transaction.get("airtel_money_id"), text_of(transaction.get("airtel_money_id")))
    if receipt is None:
        raise CannotFetch(f"{source} has a transaction without an airtel_money_id.")
    source = f"{source}, {receipt}"
    amount, (sign, phone) = shillings(transaction.get("amount"), source), _direction(fields, source, our_number)
    service = text_of(_part(fields, "service").get("type"))
    charge = text_of(_part(fields, "charges").get("service"))
    return FetchedLine(
        receipt=receipt,
        moved_at=moment(transaction.get("created_at"), source),
        amount=sign * amount,
        service=service,
        key=text_of(transaction.get("id")),
        phone=phone,
        details=f"{service}, charge {charge}" if charge.strip("0.") else service,
    )


def _direction(fields: dict[str, Any], source: str, our_number: str) -> tuple[int, str]:
    """+1 if we were paid, and the other's number."""
    payer, payee = (text_of(_part(fields, name).get("msisdn")) for name in ("payer", "payee"))
    is_payer, is_payee = (number[-_DIGITS:] == our_number[-_DIGITS:] for number in (payer, payee))
    if is_payer == is_payee:
        raise CannotFetch(f"{source}: one of payer and payee should be our own number, and {_which(is_payer)} is.")
    return (1, payer) if is_payee else (-1, payee)


def _which(is_both: bool) -> str:
    return "each of them" if is_both else "neither"


def _part(fields: dict[str, Any], name: str) -> dict[str, Any]:
    part = fields.get(name)
    return part if isinstance(part, dict) else {}
