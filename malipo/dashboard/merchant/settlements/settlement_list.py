"""The settlements of a merchant, the newest first, with what can be sent to the bank now and by itself."""

from datetime import date, datetime, time
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo import clock
from malipo.dashboard import render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import number_in
from malipo.db import Conn
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.settlement import release
from malipo.settlement.bank_account import BankAccount, BankAccountStatus
from malipo.settlement.schedule import Schedule
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import bank_accounts, schedules, settlements
from malipo.settlement.store.schedules import Run

PATH = "/dashboard/settlements"
PER_PAGE = 20


class Destinations(NamedTuple):
    """A merchant's bank accounts, by whether a settlement can go there now."""

    usable: list[BankAccount]
    waiting: list[BankAccount]  # verified, and cannot be used yet
    unverified: list[BankAccount]

    @classmethod
    def of(cls, accounts: list[BankAccount], now: datetime) -> "Destinations":
        verified = [each for each in accounts if each.status(now) is BankAccountStatus.VERIFIED]
        return cls(
            [each for each in verified if each.is_usable(now)],
            [each for each in verified if not each.is_usable(now)],
            [each for each in accounts if each.status(now) is BankAccountStatus.UNVERIFIED],
        )


class _Page(NamedTuple):
    wallet: Wallet
    on_its_way: int
    total: int
    settlements: list[Settlement]
    accounts: list[BankAccount]
    schedule: Schedule | None
    last_run: Run | None
    is_released: bool


async def show(request: MerchantRequest) -> Response:
    page, chosen, now = number_in(request, "page", 1), _status(request), request.parts.clock()
    merchant_id = request.merchant_id

    async def find(connection: Conn) -> _Page:
        wallet, _ = await wallets.get(connection, merchant_id)
        total, found = await settlements.find_page(connection, merchant_id, status=chosen, page=page, limit=PER_PAGE)
        runs = await schedules.find_runs(connection, merchant_id, limit=1)
        return _Page(
            wallet,
            await settlements.sum_open(connection, merchant_id),
            total,
            found,
            await bank_accounts.find_of(connection, merchant_id),
            await schedules.find(connection, merchant_id),
            runs[0] if runs else None,
            await release.is_released(connection),
        )

    found = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "merchant/settlements/list.html",
        found=found,
        settlements=found.settlements,
        accounts={each.id: each for each in found.accounts},
        destinations=Destinations.of(found.accounts, now),
        last_run_day=None if found.last_run is None else request.words.day(noon(found.last_run.day)),
        is_held=any(each.held_since for each in found.accounts)
        or (found.schedule is not None and found.schedule.is_paused),
        chosen=chosen,
        newer=_address(chosen, page - 1) if page > 1 else None,
        older=_address(chosen, page + 1) if found.total > page * PER_PAGE else None,
    )


def _status(request: MerchantRequest) -> SettlementStatus | None:
    text = request.http.query_params.get("status", "")
    return SettlementStatus(text) if text in SettlementStatus.__members__.values() else None


def _address(status: SettlementStatus | None, page: int) -> str:
    query = ({} if status is None else {"status": status.value}) | {"page": str(page)}
    return f"{PATH}?{urlencode(query)}"


def noon(day: date) -> datetime:
    """A moment of the day, by which pages say it in words."""
    return datetime.combine(day, time(12), clock.ZONE)
