"""The overview: money in and out, success rate by channel, the wallet, and what needs attention.

Sums come from the daily totals, so that they cost the same after a million payments as after ten. A payment is counted
on the day on which it ended, in Dar es Salaam.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from babel.dates import format_date
from markupsafe import Markup
from starlette.responses import Response

from malipo import money
from malipo.clock import ZONE
from malipo.dashboard import charts, render
from malipo.dashboard.charts import ChartColumn, ChartLabels, Point
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant.payment_statistics import (
    ByDay,
    Totals,
    added,
    by_channel,
    by_day_of,
    duration,
    percent,
    tells,
    tenths_of,
    whole_of,
)
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.unvouched_people import find_waiting
from malipo.dashboard.urls import base_url
from malipo.db import Conn
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants.api_keys import StoredKey
from malipo.merchants.roles import Right
from malipo.merchants.store import api_keys
from malipo.networks import circuit_store
from malipo.networks.circuit_store import Outage
from malipo.networks.connector import Channel
from malipo.networks.routing import Route
from malipo.outbox import daily_totals
from malipo.outbox.daily_totals import Total
from malipo.payments.batches.store import awaiting
from malipo.payments.batches.store.awaiting import ProposedBatch
from malipo.payments.listing import keyset_pagination, late_payouts
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.transaction import Status, Transaction, Type
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.store import bank_accounts, schedules
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.store import delivery_history, endpoints

SPANS = (7, 30, 90)  # days
MOST_COUNTED = 1000
_LATEST = 10
_SLOW = timedelta(hours=1)
_UNDELIVERED_DAYS = 7
_PROPOSED_SHOWN = 5
_EXPIRY = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class OverviewData:
    """The data of the page, from one snapshot."""

    totals: Totals
    wallet: Wallet
    latest: Sequence[Transaction]
    endpoints: Sequence[Endpoint]
    undelivered: Mapping[str, int]
    slow: Sequence[tuple[str, datetime]]
    keys: Sequence[StoredKey]
    down: Mapping[str, Outage]
    proposed: Sequence[ProposedBatch] = ()  # that await the approval of who looks
    new_accounts: Sequence[BankAccount] = ()  # that cannot be used yet, for owners
    is_held: bool = False  # since a restore, until an owner has looked
    waiting: int = 0  # people whom owners should look at: they do not count as a second one yet


async def show(request: MerchantRequest) -> Response:
    now = request.parts.clock()
    today = now.astimezone(ZONE).date()
    span = _span_in(request.http.query_params.get("days", ""))
    days = [today - timedelta(days=back) for back in reversed(range(span))]
    seen = await request.parts.queries.read_snapshot(lambda connection: _look(connection, request, days[0], now))
    by_day = by_day_of(seen.totals, days)
    return render.page(
        request,
        "merchant/overview.html",
        today=by_day[today],
        yesterday=by_day[today - timedelta(days=1)],
        wallet=seen.wallet,
        spans=SPANS,
        span=span,
        whole=whole_of(by_day),
        by_day=[(_day_name(request.words, day), both) for day, both in by_day.items()],
        by_channel=by_channel(seen.totals),
        columns=_columns(request.words, by_day),
        line=_line(request.words, by_day) if tells(added(whole_of(by_day))) else None,
        share=charts.share,
        percent=percent,
        tenths=tenths_of,
        tells=tells,
        duration=lambda seconds: duration(request.words, seconds),
        attention=attention(seen, request.parts.networks.routes, now),
        most_counted=MOST_COUNTED,
        proposed=seen.proposed,
        waiting=seen.waiting,
        new_accounts=seen.new_accounts,
        is_held=seen.is_held,
        proposed_amount=request.awaited.amount,
        latest=seen.latest,
        has_key=any(not _is_over(key, now) for key in seen.keys),
        has_endpoint=bool(seen.endpoints),
        base_url=base_url(request),
        way_of=_way_of,
    )


async def _look(connection: Conn, request: MerchantRequest, first: date, now: datetime) -> OverviewData:
    merchant_id, makers = request.merchant_id, request.awaited.makers
    last = now.astimezone(ZONE).date()
    wallet, _ = await wallets.get(connection, merchant_id)
    return OverviewData(
        totals=await daily_totals.find(connection, merchant_id, first=first, last=last),
        wallet=wallet,
        latest=(await keyset_pagination.page(connection, merchant_id, TransactionFilter(), limit=_LATEST)).transactions,
        endpoints=await endpoints.find_all(connection, merchant_id),
        undelivered=await delivery_history.count_exhausted(
            connection, merchant_id, since=now - timedelta(days=_UNDELIVERED_DAYS), most=MOST_COUNTED
        ),
        slow=await late_payouts.find(connection, merchant_id, before=now - _SLOW, most=MOST_COUNTED),
        keys=await api_keys.find_all(connection, merchant_id),
        down=await circuit_store.find_down(connection),
        proposed=await awaiting.find_oldest(connection, merchant_id, makers, limit=_PROPOSED_SHOWN) if makers else [],
        **await _look_at_bank_accounts(connection, request, now),
        waiting=sum(each.is_told for each in (await find_waiting(connection, request)).values()),
    )


async def _look_at_bank_accounts(connection: Conn, request: MerchantRequest, now: datetime) -> dict[str, Any]:
    """What owners must see without any e-mail: where all their money could soon be sent."""
    if not request.person.may(Right.ADMINISTER):
        return {}
    found = await bank_accounts.find_of(connection, request.merchant_id)
    schedule = await schedules.find(connection, request.merchant_id)
    return {
        "new_accounts": [each for each in found if each.is_new(now)],
        "is_held": any(each.held_since for each in found) or (schedule is not None and schedule.is_paused),
    }


@dataclass(frozen=True, slots=True)
class Attention:
    """The things that need attention, by kind; all empty on a good day."""

    down: Sequence[tuple[Channel, datetime]]  # and since when
    disabled: Sequence[tuple[str, datetime]]  # the endpoint's host, and when
    failing: Sequence[tuple[str, datetime]]  # … and since when
    undelivered: Sequence[tuple[str, int]]  # … and how many
    slow: Sequence[tuple[str, datetime]]  # payouts, and when they were sent
    expiring: Sequence[StoredKey]
    expired: Sequence[StoredKey]

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)


def attention(seen: OverviewData, routes: Mapping[Route, str], now: datetime) -> Attention:
    """Pure. A key that expired long ago is not shown any more."""
    hosts = {each.id: urlsplit(each.url).netloc for each in seen.endpoints}
    ending = [key for key in seen.keys if key.expires_at is not None and abs(key.expires_at - now) <= _EXPIRY]
    return Attention(
        down=_channels_down(seen.down, routes),
        disabled=[(hosts[each.id], each.disabled_at) for each in seen.endpoints if each.disabled_at],
        failing=[
            (hosts[each.id], each.failing_since) for each in seen.endpoints if each.is_active and each.failing_since
        ],
        undelivered=[(hosts[id_], count) for id_, count in seen.undelivered.items() if id_ in hosts],
        slow=seen.slow,
        expiring=[key for key in ending if not _is_over(key, now)],
        expired=[key for key in ending if _is_over(key, now)],
    )


def _channels_down(down: Mapping[str, Outage], routes: Mapping[Route, str]) -> list[tuple[Channel, datetime]]:
    since: dict[Channel, datetime] = {}
    for (channel, _), name in routes.items():
        if name in down:
            since[channel] = min(down[name].since, since.get(channel, down[name].since))
    return sorted(since.items())


def _columns(words: Translator, by_day: ByDay) -> Markup:
    (collected, paid), (first, *_, last) = whole_of(by_day), by_day
    labels = ChartLabels(
        "money",
        words("Money in and out, day by day"),
        words(
            "From {first} to {last}: {came} came in and {went} went out.",
            first=_day_name(words, first),
            last=_day_name(words, last),
            came=money.display(collected.amount),
            went=money.display(paid.amount),
        ),
        words("Tap a day to see its figures."),
    )
    return charts.columns(labels, [_column(words, day, came, went) for day, (came, went) in by_day.items()])


def _column(words: Translator, day: date, came: Total, went: Total) -> ChartColumn:
    tip = words(
        "{day}: {came} in, {went} out",
        day=_day_name(words, day),
        came=money.display(came.amount),
        went=money.display(went.amount),
    )
    return ChartColumn(_short_day(words, day), came.amount, went.amount, tip)


def _line(words: Translator, by_day: ByDay) -> Markup:
    labels = ChartLabels(
        "success",
        words("Success rate, day by day"),
        words(
            "Of all payments that were completed or failed, {percent} were completed.",
            percent=percent(tenths_of(added(whole_of(by_day)))),
        ),
        words("Tap a day to see its figures."),
    )
    rates = {day: tenths_of(added(both)) for day, both in by_day.items()}
    return charts.line(
        labels,
        [
            Point(_short_day(words, day), tenths, f"{_day_name(words, day)}: {percent(tenths)}")
            for day, tenths in rates.items()
        ],
    )


def _span_in(text: str) -> int:
    return int(text) if text in map(str, SPANS) else SPANS[1]


def _is_over(key: StoredKey, now: datetime) -> bool:
    return key.expires_at is not None and key.expires_at <= now


def _day_name(words: Translator, day: date) -> str:
    return str(format_date(day, "d MMM y", locale=words.language))


def _short_day(words: Translator, day: date) -> str:
    return str(format_date(day, "d MMM", locale=words.language))


def _way_of(transaction: Transaction) -> str | None:
    """Open collections are not in the wallet yet; open payouts have left it already."""
    if transaction.type is Type.DISBURSEMENT:
        return "out"
    return "in" if transaction.status is Status.COMPLETED else None
