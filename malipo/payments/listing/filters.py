"""The filters of a list of transactions, as SQL conditions."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from malipo import clock, ids
from malipo.db.where_clause import Conditions
from malipo.networks.connector import Channel
from malipo.payments import idempotency
from malipo.payments.transaction import Status, Type, folded
from malipo.validation.fields import Fields

_ID = re.compile(r"txn_[0-9a-hjkmnp-tv-z]{26}")
_LINK = re.compile(r"lnk_[0-9a-hjkmnp-tv-z]{26}")
_LAST = "z" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionFilter:
    statuses: tuple[Status, ...] = ()  # any of them; none: all
    type: Type | None = None
    channel: Channel | None = None
    first: datetime | None = None
    last: datetime | None = None
    search: str | None = None
    order_reference: str | None = None  # exactly
    provider_reference: str | None = None  # the network's receipt, exactly
    receipt_begins: str | None = None  # … its beginning; only on pages, as is the amount
    amount: int | None = None
    idempotency_key: str | None = None  # that it was made with
    link: str | None = None  # the payment link that its customer paid by
    is_refund: bool | None = None  # only by keyset pages: no rollup separates refunds from other payouts
    before: str | None = None  # an id: the page has only older payments; the total counts all

    @property
    def may_be_costly(self) -> bool:
        """Whether the query can take long in spite of the indexes: very many payments may have the term or the
        reference, or be of the link."""
        return any(each is not None for each in (self.search, self.order_reference, self.link))

    @property
    def is_exact(self) -> bool:
        """Whether the filter names payments by a reference, a receipt, a key or a link, so that an index finds them."""
        exact = (self.order_reference, self.provider_reference, self.receipt_begins, self.idempotency_key, self.link)
        return any(each is not None for each in exact)

    @property
    def first_millisecond(self) -> int | None:
        """The first whole millisecond that is not before `first`."""
        if self.first is None:
            return None
        return clock.milliseconds(self.first) + (self.first.microsecond % 1000 != 0)

    @property
    def last_millisecond(self) -> int | None:
        return None if self.last is None else clock.milliseconds(self.last)

    @property
    def term(self) -> str | None:
        return None if self.search is None else folded(self.search)


def filter_in(fields: Fields, *, search_of: Callable[[str], str] = str.strip) -> TransactionFilter:
    """Read the filter from the query of an API request or a page. `search_of` turns typed text into the search term."""
    return TransactionFilter(
        statuses=fields.choice_list("status", Status),
        type=fields.choice("type", Type),
        channel=fields.choice("channel", Channel),
        first=fields.moment("from"),
        last=fields.moment("to", is_end=True),
        search=search_of(fields.text("search", most=255)) or None,
        order_reference=fields.order_reference(),
        provider_reference=fields.provider_reference(),
        idempotency_key=_key_in(fields),
        link=_link_in(fields),
        before=_before_in(fields),
    )


def _key_in(fields: Fields) -> str | None:
    key = fields.raw("idempotencyKey")
    if key is not None and (problem := idempotency.problem_with(key)):
        fields.wrong("idempotencyKey", "idempotency_key_invalid", problem)
        return None
    return None if key is None else str(key)


def _link_in(fields: Fields) -> str | None:
    link = fields.raw("link")
    if link is not None and not (isinstance(link, str) and _LINK.fullmatch(link)):
        fields.wrong("link", "link_id_invalid", "link must be the id of a payment link: lnk_ and 26 characters.")
        return None
    return link


def _before_in(fields: Fields) -> str | None:
    """The id before which the page ends. No payment need have it: it is a position."""
    before = fields.raw("before")
    if before is None:
        return None
    if not isinstance(before, str) or not _ID.fullmatch(before):
        fields.wrong("before", "before_invalid", "before must be the id of a transaction: the last of the page before.")
    elif fields.raw("page") is not None:
        fields.wrong("before", "before_invalid", "before and page are two ways to turn pages: send only one of them.")
    else:
        return before
    return None


def where_of(merchant_id: str, wanted: TransactionFilter) -> Conditions:
    """Conditions on the table `transactions`, as `t`."""
    where = Conditions("t.merchant_id = {}", merchant_id)
    add_sort(where, wanted)
    add_span(where, wanted)
    where.add("t.order_reference = {}", wanted.order_reference)
    where.add("t.provider_reference = {}", wanted.provider_reference)
    if wanted.receipt_begins is not None:
        # The index is read from the beginning to what comes after all that begin so, in the order of any database.
        where.add("t.provider_reference >= {}", wanted.receipt_begins)
        where.add("t.provider_reference <= {}", wanted.receipt_begins + _LAST)
        where.add("starts_with(t.provider_reference, {})", wanted.receipt_begins)
    # Its attempts are the payments, and are found by an index; those of a link are few beside a merchant's payments.
    attempts = "SELECT a.merchant_id, a.transaction_id FROM link_attempts a WHERE a.link_id = {}"
    where.add(f"(t.merchant_id, t.id) IN ({attempts})", wanted.link)
    where.add("strpos(t.search_text, {}) > 0", wanted.term)
    return where


def add_sort(where: Conditions, wanted: TransactionFilter) -> None:
    where.add("t.status = ANY({}::text[])", list(wanted.statuses) or None)
    where.add("t.type = {}", wanted.type)
    where.add("t.channel = {}", wanted.channel)
    where.add("(t.refund_of IS NOT NULL) = {}", wanted.is_refund)
    where.add("t.amount = {}", wanted.amount)


def is_sorted(wanted: TransactionFilter) -> bool:
    return any((wanted.statuses, wanted.type, wanted.channel, wanted.is_refund is not None, wanted.amount is not None))


def add_span(where: Conditions, wanted: TransactionFilter) -> None:
    """An id begins with the time of its creation in milliseconds, so a range of time is a range of ids."""
    first, last = wanted.first_millisecond, wanted.last_millisecond
    where.add("t.id >= {}", None if first is None else ids.first_of("txn_", first))
    where.add("t.id <= {}", None if last is None else ids.last_of("txn_", last))
    where.add("t.id < {}", wanted.before)
