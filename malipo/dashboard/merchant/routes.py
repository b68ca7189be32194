"""Every page, with the right that a person needs for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.dashboard.login_pages import choose_language
from malipo.dashboard.merchant import (
    api_keys,
    audit_log,
    deliveries,
    new_payment,
    overview,
    people,
    server_sent_events,
    sessions,
    settings,
    transaction_csv,
    transaction_detail,
    transaction_list,
    wallet,
    webhooks,
)
from malipo.dashboard.merchant.login_pages import LOGIN, show_link, use_link
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.merchants.people import Right

Handler = Callable[[MerchantRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    method: str
    path: str
    handler: Handler
    right: Right | None  # None: for everybody


PAGES = [
    Page("GET", "/dashboard/login", LOGIN.show, None),
    Page("POST", "/dashboard/login", LOGIN.log_in, None),
    Page("POST", "/dashboard/logout", LOGIN.log_out, Right.LOOK),
    Page("GET", "/dashboard/password", show_link, None),
    Page("POST", "/dashboard/password", use_link, None),
    Page("POST", "/dashboard/language", choose_language, None),
    Page("GET", "/dashboard/live", server_sent_events.stream, Right.LOOK),
    Page("GET", "/dashboard", overview.show, Right.LOOK),
    Page("GET", "/dashboard/wallet", wallet.show, Right.LOOK),
    Page("GET", "/dashboard/wallet.csv", wallet.download, Right.LOOK),
    Page("GET", "/dashboard/wallet/print", wallet.show_paper, Right.LOOK),
    Page("GET", "/dashboard/transactions", transaction_list.show, Right.LOOK),
    Page("GET", "/dashboard/transactions.csv", transaction_csv.send, Right.LOOK),
    Page("GET", "/dashboard/transactions/{id}", transaction_detail.show, Right.LOOK),
    Page("GET", "/dashboard/transactions/{id}/cancel", transaction_detail.ask_to_cancel, Right.WORK),
    Page("POST", "/dashboard/transactions/{id}/cancel", transaction_detail.cancel, Right.WORK),
    Page("GET", "/dashboard/collect", new_payment.show_collection, Right.WORK),
    Page("POST", "/dashboard/collect", new_payment.take_collection, Right.WORK),
    Page("GET", "/dashboard/payout", new_payment.show_payout, Right.WORK),
    Page("POST", "/dashboard/payout", new_payment.take_payout, Right.WORK),
    Page("GET", "/dashboard/keys", api_keys.show, Right.LOOK),
    Page("POST", "/dashboard/keys", api_keys.create, Right.RULE),
    Page("GET", "/dashboard/keys/new", api_keys.ask_for_new, Right.RULE),
    Page("GET", "/dashboard/keys/{id}/revoke", api_keys.ask_to_revoke, Right.RULE),
    Page("POST", "/dashboard/keys/{id}/revoke", api_keys.revoke, Right.RULE),
    Page("GET", "/dashboard/webhooks", webhooks.show, Right.LOOK),
    Page("POST", "/dashboard/webhooks", webhooks.create, Right.WORK),
    Page("GET", "/dashboard/webhooks/new", webhooks.ask_for_new, Right.WORK),
    Page("GET", "/dashboard/webhooks/{id}", deliveries.show, Right.LOOK),
    Page("GET", "/dashboard/webhooks/{id}/edit", webhooks.ask_for_changes, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/edit", webhooks.change, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/pause", webhooks.pause, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/resume", webhooks.resume, Right.WORK),
    Page("GET", "/dashboard/webhooks/{id}/rotate", webhooks.ask_to_rotate, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/rotate", webhooks.rotate, Right.WORK),
    Page("GET", "/dashboard/webhooks/{id}/finish", webhooks.ask_to_finish, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/finish", webhooks.finish, Right.WORK),
    Page("GET", "/dashboard/webhooks/{id}/delete", webhooks.ask_to_delete, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/delete", webhooks.delete, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/test", deliveries.test, Right.WORK),
    Page("GET", "/dashboard/webhooks/{id}/recover", deliveries.ask_to_recover, Right.WORK),
    Page("POST", "/dashboard/webhooks/{id}/recover", deliveries.recover, Right.WORK),
    Page("GET", "/dashboard/webhooks/{id}/deliveries/{delivery}", deliveries.show_one, Right.LOOK),
    Page("POST", "/dashboard/webhooks/{id}/deliveries/{delivery}/redeliver", deliveries.redeliver, Right.WORK),
    Page("GET", "/dashboard/settings", settings.show, Right.LOOK),
    Page("POST", "/dashboard/settings/password", settings.change_password, Right.LOOK),
    Page("POST", "/dashboard/settings/sessions/end", sessions.end_others, Right.LOOK),
    Page("POST", "/dashboard/settings/sessions/{id}/end", sessions.end_one, Right.LOOK),
    Page("GET", "/dashboard/settings/activity", audit_log.show, Right.RULE),
    Page("GET", "/dashboard/settings/people", people.show, Right.RULE),
    Page("POST", "/dashboard/settings/people", people.add, Right.RULE),
    Page("GET", "/dashboard/settings/people/new", people.ask_for_new, Right.RULE),
    Page("GET", "/dashboard/settings/people/{id}", people.show_one, Right.RULE),
    Page("POST", "/dashboard/settings/people/{id}/role", people.change_role, Right.RULE),
    Page("POST", "/dashboard/settings/people/{id}/link", people.give_link, Right.RULE),
    Page("GET", "/dashboard/settings/people/{id}/remove", people.ask_to_remove, Right.RULE),
    Page("POST", "/dashboard/settings/people/{id}/remove", people.remove, Right.RULE),
]
