"""Every page, with the right that a person needs for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.dashboard import entrance, export, live, overview, pay, transaction, transactions, wallet
from malipo.dashboard.visit import Visit
from malipo.merchants.people import Right

Handler = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    method: str
    path: str
    handler: Handler
    right: Right | None  # None: for everybody


PAGES = [
    Page("GET", "/dashboard/login", entrance.show, None),
    Page("POST", "/dashboard/login", entrance.log_in, None),
    Page("POST", "/dashboard/logout", entrance.log_out, Right.LOOK),
    Page("GET", "/dashboard/password", entrance.show_link, None),
    Page("POST", "/dashboard/password", entrance.use_link, None),
    Page("POST", "/dashboard/language", entrance.choose_language, None),
    Page("GET", "/dashboard/live", live.stream, Right.LOOK),
    Page("GET", "/dashboard", overview.show, Right.LOOK),
    Page("GET", "/dashboard/wallet", wallet.show, Right.LOOK),
    Page("GET", "/dashboard/wallet.csv", wallet.download, Right.LOOK),
    Page("GET", "/dashboard/wallet/print", wallet.show_paper, Right.LOOK),
    Page("GET", "/dashboard/transactions", transactions.show, Right.LOOK),
    Page("GET", "/dashboard/transactions.csv", export.send, Right.LOOK),
    Page("GET", "/dashboard/transactions/{id}", transaction.show, Right.LOOK),
    Page("GET", "/dashboard/transactions/{id}/cancel", transaction.ask_to_cancel, Right.WORK),
    Page("POST", "/dashboard/transactions/{id}/cancel", transaction.cancel, Right.WORK),
    Page("GET", "/dashboard/collect", pay.show_collection, Right.WORK),
    Page("POST", "/dashboard/collect", pay.take_collection, Right.WORK),
    Page("GET", "/dashboard/payout", pay.show_payout, Right.WORK),
    Page("POST", "/dashboard/payout", pay.take_payout, Right.WORK),
]
