"""The operators' pages of merchants: the list with balances, and the page of one merchant. They only read; operators
change a merchant at the command line, and the pages show the command."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.accounts.store import second_factors
from malipo.approvals import booking_history
from malipo.approvals.booking_history import BookingFilter, PastBooking
from malipo.dashboard import render
from malipo.dashboard.operator.booking_history import kind_words
from malipo.dashboard.operator.reconciliation.statements import CHANNELS
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in, key_in
from malipo.db import Conn
from malipo.errors import Missing
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.merchants.api_keys import StoredKey
from malipo.merchants.people import Person
from malipo.merchants.public_profile import PublicProfile
from malipo.merchants.store import api_keys, merchants, people, public_profiles
from malipo.merchants.store.merchants import Merchant
from malipo.operators.roles import Right
from malipo.payments.fees import Band
from malipo.payments.listing import by_reference, keyset_pagination, transaction_list
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.listing.keyset_pagination import TransactionPage, most_looked_through
from malipo.payments.store import tariffs
from malipo.payments.transaction import Status, Transaction, Type
from malipo.settlement.bank_account import BankAccount, BankAccountStatus
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import bank_accounts, settlements
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.store import endpoints

PATH = "/operator/merchants"

_MOST_SHOWN = 100
_MOST_TYPED = 100
_LATEST = 10
_PER_PAGE = 50


class MerchantRow(NamedTuple):
    merchant: Merchant
    wallet: Wallet
    in_settlement: int


class MerchantData(NamedTuple):
    """Everything that the page of a merchant shows."""

    merchant: Merchant
    profile: PublicProfile
    wallet: Wallet
    in_settlement: int
    payments: Sequence[Transaction]
    people: Sequence[Person]
    enrolled: set[str]  # people who have a second factor
    keys: Sequence[StoredKey]
    tariff: Mapping[tuple[str, Type, str], Sequence[Band]]
    bookings: Sequence[PastBooking]
    settlements: Sequence[Settlement]
    accounts: Sequence[BankAccount]
    endpoints: Sequence[Endpoint]


class NoSuchMerchant(Missing):
    def __init__(self) -> None:
        super().__init__("There is no merchant with this id.")


async def show_all(request: OperatorRequest) -> Response:
    typed = request.http.query_params.get("search", "").strip()[:_MOST_TYPED]

    async def find(connection: Conn) -> tuple[list[Merchant], dict[str, Wallet], dict[str, int]]:
        found = await merchants.search(connection, typed, limit=_MOST_SHOWN + 1)
        ids = [each.id for each in found]
        return found, await wallets.find(connection, ids), await settlements.find_sums_open(connection, ids)

    found, balances, open_ = await request.parts.queries.read_snapshot(find, is_search=bool(typed))
    rows = [MerchantRow(each, balances[each.id], open_.get(each.id, 0)) for each in found[:_MOST_SHOWN]]
    return render.page(request, "operator/merchants/list.html", rows=rows, typed=typed, is_cut=len(found) > _MOST_SHOWN)


async def show(request: OperatorRequest) -> Response:
    merchant_id = id_in(request, "merchant")
    found = await request.parts.queries.read_snapshot(lambda connection: _find(connection, request, merchant_id))
    shown: dict[str, Any] = found._asdict()
    return render.page(
        request,
        "operator/merchants/merchant.html",
        **shown,
        bands=_bands(found.tariff),
        kinds=kind_words(request.words),
        statuses={each.id: each.status(request.parts.clock()) for each in found.accounts},
        unverified=sum(each.stored_status is BankAccountStatus.UNVERIFIED for each in found.accounts),
        path=f"{PATH}/{merchant_id}",
    )


async def _find(connection: Conn, request: OperatorRequest, merchant_id: str) -> MerchantData:
    merchant = await get(connection, merchant_id)
    wallet, _ = await wallets.get(connection, merchant_id)
    latest = await keyset_pagination.page(connection, merchant_id, TransactionFilter(), limit=_LATEST)
    found = await people.find_all(connection, merchant_id)
    of_merchant = BookingFilter(merchant_id=merchant_id)
    _, settled = await settlements.find_page(connection, merchant_id, page=1, limit=_LATEST)
    sees_money = request.may(Right.READ)
    return MerchantData(
        merchant,
        await public_profiles.find(connection, merchant_id),
        wallet,
        await settlements.sum_open(connection, merchant_id),
        latest.transactions,
        found,
        await second_factors.find_enrolled(connection, [each.id for each in found]),
        await api_keys.find_all(connection, merchant_id),
        await tariffs.find(connection, [merchant_id]),
        await booking_history.find(connection, of_merchant, limit=_LATEST) if sees_money else [],
        settled if sees_money else [],
        await bank_accounts.find_of(connection, merchant_id) if sees_money else [],
        await endpoints.find_all(connection, merchant_id),
    )


async def get(connection: Conn, merchant_id: str) -> Merchant:
    merchant = await merchants.find(connection, merchant_id)
    if merchant is None:
        raise NoSuchMerchant
    return merchant


def _bands(tariff: Mapping[tuple[str, Type, str], Sequence[Band]]) -> list[tuple[Type, str, Band]]:
    return [
        (type_, channel, band)
        for (_, type_, channel), bands in sorted(tariff.items())
        for band in sorted(bands, key=lambda each: each.from_amount)
    ]


async def show_payments(request: OperatorRequest) -> Response:
    """All payments of a merchant, the newest first. A typed reference, receipt or order is looked up exactly."""
    merchant_id, before = id_in(request, "merchant"), key_in(request)
    query = request.http.query_params
    typed = {name: value for name in ("search", "status", "channel") if (value := query.get(name, "").strip())}
    typed = {name: value[:_MOST_TYPED] for name, value in typed.items()}
    wanted = TransactionFilter(
        statuses=(Status(typed["status"]),) if typed.get("status") in Status.__members__.values() else (),
        channel=next((code for code, _ in CHANNELS if code == typed.get("channel")), None),  # type: ignore[arg-type]
        search=typed.get("search"),
    )

    async def find(connection: Conn) -> tuple[Merchant, TransactionPage]:
        merchant = await get(connection, merchant_id)
        if wanted.search is not None:
            exact = TransactionFilter(provider_reference=wanted.search)
            _, receipts = await by_reference.page(connection, merchant_id, exact, offset=0, limit=_PER_PAGE)
            if receipts:
                return merchant, TransactionPage(receipts)
        page = await keyset_pagination.page(connection, merchant_id, wanted, before=before, limit=_PER_PAGE)
        shown = await transaction_list.with_corrections(connection, merchant_id, page.transactions)
        return merchant, TransactionPage(shown, page.older, page.newer, page.is_cut)

    merchant, page = await request.parts.queries.read_snapshot(find, is_search=wanted.search is not None)
    path = f"{PATH}/{merchant_id}/payments"
    return render.page(
        request,
        "operator/merchants/payments.html",
        merchant=merchant,
        page=page,
        typed=typed,
        channels=CHANNELS,
        path=path,
        looked_through=f"{most_looked_through(wanted):,}",
        older=f"{path}?{urlencode(typed | {'before': page.older})}" if page.older else None,
        newest=f"{path}?{urlencode(typed)}" if before else None,
    )
