"""ClickPesa's account statement, and its lists of payments and payouts: by date, and a page at a time."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any

from malipo_simulator.behaviour import PaymentKind
from malipo_simulator.state import State
from malipo_simulator.statements.account import ZONE, StatementEntry, balance_of, entries_of
from malipo_simulator.statements.layouts import plain_words
from malipo_simulator.transaction import GatewayName, Transaction

_LIMIT = 20
_MOST = 100


class BadQuery(Exception):  # noqa: N818
    """A query with a mistake, as a sentence."""


def statement(state: State, query: dict[str, str]) -> dict[str, Any]:
    if query.get("currency", "TZS") != "TZS":
        raise BadQuery("currency must be one of TZS")
    is_within = _between(query)
    entries = [each for each in entries_of(state, GatewayName.CLICKPESA) if is_within(each.at)]
    return {
        "accountDetails": {
            "currency": "TZS",
            "openingBalance": None,
            "closingBalance": balance_of(state, GatewayName.CLICKPESA),
        },
        "transactions": [_shown(each) for each in entries],
    }


def page(
    state: State, kind: PaymentKind, query: dict[str, str], describe: Callable[[Transaction], dict[str, Any]]
) -> dict[str, Any]:
    """The newest first, as they list them."""
    is_within = _between(query)
    skip, limit = _number(query, "skip", 0), min(_number(query, "limit", _LIMIT), _MOST)
    found = [
        described
        for each in reversed(list(_of_kind(state.by_id.values(), kind)))
        if is_within(each.taken_at) and _is_asked_for(described := describe(each), query)
    ]
    return {"data": found[skip : skip + limit], "totalCount": len(found)}


def _of_kind(transactions: Iterable[Transaction], kind: PaymentKind) -> Iterable[Transaction]:
    return (each for each in transactions if each.gateway is GatewayName.CLICKPESA and each.kind is kind)


def _is_asked_for(described: dict[str, Any], query: dict[str, str]) -> bool:
    return all(name not in query or described.get(name) == query[name] for name in ("orderReference", "status"))


def _shown(entry: StatementEntry) -> dict[str, Any]:
    return {
        "date": datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "description": plain_words(entry),
        "amount": abs(entry.amount),
        "entry": "Credit" if entry.amount > 0 else "Debit",
        "id": entry.receipt,
    }


def _between(query: dict[str, str]) -> Callable[[float], bool]:
    """The payments between two dates. Both are whole days in Dar es Salaam, and both are included."""
    first, last = _date(query, "startDate", date.min), _date(query, "endDate", date.max)
    return lambda at: first <= datetime.fromtimestamp(at, ZONE).date() <= last


def _date(query: dict[str, str], name: str, otherwise: date) -> date:
    text = query.get(name)
    if text is None:
        return otherwise
    for form in ("%Y-%m-%d", "%d-%m-%Y"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=ZONE).date()
        except ValueError:
            continue
    raise BadQuery(f"{name} must be a date")


def _number(query: dict[str, str], name: str, otherwise: int) -> int:
    text = query.get(name, str(otherwise))
    if not (text.isascii() and text.isdecimal()):
        raise BadQuery(f"{name} must be a number")
    return int(text)
