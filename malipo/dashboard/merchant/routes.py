"""Every page, with the right that a person needs for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.accounts.reauthentication import SensitiveAct
from malipo.dashboard import reauthentication_pages
from malipo.dashboard.language_choice import choose_language
from malipo.dashboard.merchant import (
    api_keys,
    approval_settings,
    audit_log,
    deliveries,
    invoices,
    messages,
    new_payment,
    overview,
    own_account,
    payment_settings,
    people,
    profile,
    refund,
    server_sent_events,
    sessions,
    stop_bank_account,
    transaction_csv,
    transaction_detail,
    transaction_list,
    transaction_xlsx,
    vouch,
    wallet,
    wallet_statement_file,
    webhooks,
)
from malipo.dashboard.merchant.batches import (
    approve_or_cancel,
    batch_detail,
    batch_list,
    draft_pages,
    retry_failed_items,
    upload,
)
from malipo.dashboard.merchant.links import link_detail, link_list
from malipo.dashboard.merchant.login_pages import LOGIN, show_link, use_link
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.second_factor import OWN, require, reset
from malipo.dashboard.merchant.settlements import (
    bank_accounts,
    new_settlement,
    schedule,
    settlement_detail,
    settlement_list,
)
from malipo.dashboard.trusted_browser_pages import ending_trust, read_alert
from malipo.merchants.roles import Right

Handler = Callable[[MerchantRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class MerchantPage:
    method: str
    path: str
    handler: Handler
    right: Right | None  # None: for everybody
    act: SensitiveAct | None = None  # if the password must have been typed a short time ago


# All that is open to who must set up a second factor first.
WITHOUT_SECOND_FACTOR = (OWN.path, "/dashboard/logout", "/dashboard/confirm")

PAGES = [
    MerchantPage("GET", "/dashboard/login", LOGIN.show, None),
    MerchantPage("POST", "/dashboard/login", LOGIN.log_in, None),
    MerchantPage("GET", "/dashboard/login/code", LOGIN.show_code, None),
    MerchantPage("POST", "/dashboard/login/code", LOGIN.check_code, None),
    MerchantPage("POST", "/dashboard/logout", LOGIN.log_out, Right.READ),
    MerchantPage("GET", "/dashboard/confirm", reauthentication_pages.show, Right.READ),
    MerchantPage("POST", "/dashboard/confirm", reauthentication_pages.confirm, Right.READ),
    MerchantPage("GET", "/dashboard/password", show_link, None),
    MerchantPage("POST", "/dashboard/password", use_link, None),
    MerchantPage("GET", stop_bank_account.PATH, stop_bank_account.show, None),
    MerchantPage("POST", stop_bank_account.PATH, stop_bank_account.stop, None),
    MerchantPage("POST", "/dashboard/language", choose_language, None),
    MerchantPage("GET", "/dashboard/live", server_sent_events.stream, Right.READ),
    MerchantPage("GET", "/dashboard", overview.show, Right.READ),
    MerchantPage("GET", "/dashboard/wallet", wallet.show, Right.READ),
    MerchantPage("GET", "/dashboard/wallet.csv", wallet_statement_file.send_csv, Right.READ),
    MerchantPage("GET", "/dashboard/wallet.xlsx", wallet_statement_file.send_xlsx, Right.READ),
    MerchantPage("GET", "/dashboard/wallet/print", wallet.show_paper, Right.READ),
    MerchantPage("GET", "/dashboard/invoices", invoices.show, Right.READ),
    MerchantPage("GET", "/dashboard/invoices.csv", invoices.send_csv, Right.READ),
    MerchantPage("GET", "/dashboard/invoices/{id}", invoices.show_one, Right.READ),
    MerchantPage("GET", "/dashboard/invoices/{id}/pdf", invoices.send_pdf, Right.READ),
    MerchantPage("GET", "/dashboard/transactions", transaction_list.show, Right.READ),
    MerchantPage("GET", "/dashboard/transactions.csv", transaction_csv.send, Right.READ),
    MerchantPage("GET", "/dashboard/transactions.xlsx", transaction_xlsx.send, Right.READ),
    MerchantPage("GET", "/dashboard/transactions/{id}", transaction_detail.show, Right.READ),
    MerchantPage("GET", "/dashboard/transactions/{id}/cancel", transaction_detail.confirm_cancel, Right.OPERATE),
    MerchantPage("POST", "/dashboard/transactions/{id}/cancel", transaction_detail.cancel, Right.OPERATE),
    MerchantPage("GET", "/dashboard/transactions/{id}/refund", refund.show, Right.OPERATE),
    MerchantPage("POST", "/dashboard/transactions/{id}/refund", refund.take, Right.OPERATE),
    MerchantPage("GET", "/dashboard/collect", new_payment.show_collection, Right.OPERATE),
    MerchantPage("POST", "/dashboard/collect", new_payment.take_collection, Right.OPERATE),
    MerchantPage("GET", "/dashboard/payout", new_payment.show_payout, Right.OPERATE),
    MerchantPage("POST", "/dashboard/payout", new_payment.take_payout, Right.OPERATE),
    MerchantPage("GET", "/dashboard/batches", batch_list.show, Right.READ),
    MerchantPage("GET", "/dashboard/batches/new", upload.show, Right.OPERATE),
    MerchantPage("POST", "/dashboard/batches/new", upload.take, Right.OPERATE),
    MerchantPage("GET", "/dashboard/batches/sample.csv", upload.sample, Right.READ),
    MerchantPage("GET", "/dashboard/batches/drafts/{id}", draft_pages.show, Right.OPERATE),
    MerchantPage("POST", "/dashboard/batches/drafts/{id}", draft_pages.fix, Right.OPERATE),
    MerchantPage("POST", "/dashboard/batches/drafts/{id}/columns", draft_pages.choose_columns, Right.OPERATE),
    MerchantPage("POST", "/dashboard/batches/drafts/{id}/submit", draft_pages.submit, Right.OPERATE),
    MerchantPage("POST", "/dashboard/batches/drafts/{id}/discard", draft_pages.discard, Right.OPERATE),
    MerchantPage("GET", "/dashboard/batches/{id}", batch_detail.show, Right.READ),
    MerchantPage("GET", "/dashboard/batches/{id}/result.csv", batch_detail.download, Right.READ),
    MerchantPage(
        "GET",
        "/dashboard/batches/{id}/approve",
        approve_or_cancel.confirm_approve,
        Right.APPROVE,
        SensitiveAct.APPROVAL,
    ),
    MerchantPage(
        "POST", "/dashboard/batches/{id}/approve", approve_or_cancel.approve, Right.APPROVE, SensitiveAct.APPROVAL
    ),
    MerchantPage("POST", "/dashboard/batches/{id}/again", retry_failed_items.pay_again, Right.OPERATE),
    MerchantPage("GET", "/dashboard/batches/{id}/cancel", approve_or_cancel.confirm_cancel, Right.OPERATE),
    MerchantPage("POST", "/dashboard/batches/{id}/cancel", approve_or_cancel.cancel, Right.OPERATE),
    MerchantPage("GET", "/dashboard/links", link_list.show, Right.READ),
    MerchantPage("POST", "/dashboard/links", link_list.make, Right.OPERATE),
    MerchantPage("GET", "/dashboard/links/{id}", link_detail.show, Right.READ),
    MerchantPage("GET", "/dashboard/links/{id}/cancel", link_detail.confirm_cancel, Right.OPERATE),
    MerchantPage("POST", "/dashboard/links/{id}/cancel", link_detail.cancel, Right.OPERATE),
    MerchantPage("GET", settlement_list.PATH, settlement_list.show, Right.READ),
    MerchantPage("GET", new_settlement.NEW, new_settlement.show, Right.OPERATE),
    MerchantPage("POST", new_settlement.NEW, new_settlement.take, Right.OPERATE),  # It asks for the password itself.
    MerchantPage("GET", schedule.PATH, schedule.show, Right.ADMINISTER),
    MerchantPage("POST", schedule.PATH, schedule.change, Right.ADMINISTER, SensitiveAct.SETTLEMENT),
    MerchantPage("GET", f"{settlement_list.PATH}/{{id}}", settlement_detail.show, Right.READ),
    MerchantPage("GET", f"{settlement_list.PATH}/{{id}}/report.csv", settlement_detail.send_csv, Right.READ),
    MerchantPage("GET", f"{settlement_list.PATH}/{{id}}/report.xlsx", settlement_detail.send_xlsx, Right.READ),
    MerchantPage("GET", f"{settlement_list.PATH}/{{id}}/cancel", settlement_detail.confirm_cancel, Right.OPERATE),
    MerchantPage("POST", f"{settlement_list.PATH}/{{id}}/cancel", settlement_detail.cancel, Right.OPERATE),
    MerchantPage("GET", bank_accounts.PATH, bank_accounts.show, Right.READ),
    MerchantPage(
        "GET", f"{bank_accounts.PATH}/new", bank_accounts.show_new_form, Right.ADMINISTER, SensitiveAct.BANK_ACCOUNT
    ),
    MerchantPage("POST", f"{bank_accounts.PATH}/new", bank_accounts.add, Right.ADMINISTER, SensitiveAct.BANK_ACCOUNT),
    MerchantPage("GET", f"{bank_accounts.PATH}/{{id}}/stop", bank_accounts.confirm_stop, Right.ADMINISTER),
    MerchantPage("POST", f"{bank_accounts.PATH}/{{id}}/stop", bank_accounts.stop, Right.ADMINISTER),
    MerchantPage(
        "POST",
        f"{bank_accounts.PATH}/{{id}}/confirm",
        bank_accounts.confirm,
        Right.ADMINISTER,
        SensitiveAct.BANK_ACCOUNT,
    ),
    MerchantPage("POST", "/dashboard/payout/recipient", new_payment.show_recipient, Right.OPERATE),
    MerchantPage("GET", "/dashboard/keys", api_keys.show, Right.READ),
    MerchantPage("POST", "/dashboard/keys", api_keys.create, Right.ADMINISTER, SensitiveAct.API_KEYS),
    MerchantPage("GET", "/dashboard/keys/new", api_keys.show_new_form, Right.ADMINISTER, SensitiveAct.API_KEYS),
    MerchantPage(
        "GET", "/dashboard/keys/{id}/edit", api_keys.show_change_form, Right.ADMINISTER, SensitiveAct.API_KEYS
    ),
    MerchantPage("POST", "/dashboard/keys/{id}/edit", api_keys.change, Right.ADMINISTER, SensitiveAct.API_KEYS),
    MerchantPage(
        "GET", "/dashboard/keys/{id}/revoke", api_keys.confirm_revoke, Right.ADMINISTER, SensitiveAct.API_KEYS
    ),
    MerchantPage("POST", "/dashboard/keys/{id}/revoke", api_keys.revoke, Right.ADMINISTER, SensitiveAct.API_KEYS),
    MerchantPage("GET", "/dashboard/webhooks", webhooks.show, Right.READ),
    MerchantPage("POST", "/dashboard/webhooks", webhooks.create, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/new", webhooks.show_new_form, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/{id}", deliveries.show, Right.READ),
    MerchantPage("GET", "/dashboard/webhooks/{id}/edit", webhooks.show_change_form, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/edit", webhooks.change, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/pause", webhooks.pause, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/resume", webhooks.resume, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/{id}/rotate", webhooks.confirm_rotate, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/rotate", webhooks.rotate, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/{id}/finish", webhooks.confirm_finish, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/finish", webhooks.finish, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/{id}/delete", webhooks.confirm_delete, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/delete", webhooks.delete, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/test", deliveries.test, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/{id}/recover", deliveries.confirm_recover, Right.OPERATE),
    MerchantPage("POST", "/dashboard/webhooks/{id}/recover", deliveries.recover, Right.OPERATE),
    MerchantPage("GET", "/dashboard/webhooks/{id}/deliveries/{delivery}", deliveries.show_one, Right.READ),
    MerchantPage(
        "POST", "/dashboard/webhooks/{id}/deliveries/{delivery}/redeliver", deliveries.redeliver, Right.OPERATE
    ),
    MerchantPage("GET", "/dashboard/settings", own_account.show, Right.READ),
    MerchantPage("POST", "/dashboard/settings/password", own_account.change_password, Right.READ),
    MerchantPage("GET", messages.PATH, messages.show, Right.READ),
    MerchantPage("POST", messages.PATH, messages.choose, Right.READ),
    MerchantPage("POST", "/dashboard/settings/sessions/end", sessions.end_others, Right.READ),
    MerchantPage("POST", "/dashboard/settings/sessions/{id}/end", sessions.end_one, Right.READ),
    MerchantPage(
        "POST", "/dashboard/settings/browsers/{id}/end", ending_trust("/dashboard/settings#browsers"), Right.READ
    ),
    MerchantPage("POST", "/dashboard/new-places/{id}/read", read_alert, Right.READ),
    MerchantPage("GET", OWN.path, OWN.show, Right.READ),
    MerchantPage("POST", OWN.path, OWN.enrol, Right.READ, SensitiveAct.SECOND_FACTOR),
    MerchantPage("GET", f"{OWN.path}/codes", OWN.show, Right.READ),
    MerchantPage("POST", f"{OWN.path}/codes", OWN.make_codes, Right.READ, SensitiveAct.SECOND_FACTOR),
    MerchantPage("GET", f"{OWN.path}/remove", OWN.confirm_remove, Right.READ),
    MerchantPage("POST", f"{OWN.path}/remove", OWN.remove, Right.READ),
    MerchantPage("GET", "/dashboard/settings/activity", audit_log.show, Right.ADMINISTER),
    MerchantPage("GET", approval_settings.PATH, approval_settings.show, Right.ADMINISTER),
    MerchantPage("POST", approval_settings.PATH, approval_settings.change, Right.ADMINISTER, SensitiveAct.PEOPLE),
    MerchantPage(
        "POST", f"{approval_settings.PATH}/confirm", approval_settings.confirm, Right.ADMINISTER, SensitiveAct.APPROVAL
    ),
    MerchantPage("POST", vouch.PATH, vouch.vouch, Right.ADMINISTER, SensitiveAct.APPROVAL),
    MerchantPage("GET", payment_settings.PATH, payment_settings.show, Right.ADMINISTER),
    MerchantPage(
        "POST",
        f"{payment_settings.PATH}/idempotency-key",
        payment_settings.require_idempotency_key,
        Right.ADMINISTER,
        SensitiveAct.API_KEYS,
    ),
    MerchantPage("GET", profile.PATH, profile.show, Right.ADMINISTER),
    MerchantPage("POST", profile.PATH, profile.change, Right.ADMINISTER, SensitiveAct.PUBLIC_PROFILE),
    MerchantPage("POST", profile.LOGO, profile.upload_logo, Right.ADMINISTER),
    MerchantPage("POST", f"{profile.LOGO}/remove", profile.delete_logo, Right.ADMINISTER),
    MerchantPage("GET", "/dashboard/settings/people", people.show, Right.ADMINISTER),
    MerchantPage("POST", "/dashboard/settings/people", people.add, Right.ADMINISTER, SensitiveAct.PEOPLE),
    MerchantPage("GET", "/dashboard/settings/people/new", people.show_new_form, Right.ADMINISTER, SensitiveAct.PEOPLE),
    MerchantPage("POST", "/dashboard/settings/people/second-factor", require, Right.ADMINISTER, SensitiveAct.PEOPLE),
    MerchantPage("POST", "/dashboard/settings/people/{id}/second-factor", reset, Right.ADMINISTER, SensitiveAct.PEOPLE),
    MerchantPage("GET", "/dashboard/settings/people/{id}", people.show_one, Right.ADMINISTER),
    MerchantPage(
        "POST", "/dashboard/settings/people/{id}/role", people.change_role, Right.ADMINISTER, SensitiveAct.PEOPLE
    ),
    MerchantPage(
        "POST",
        "/dashboard/settings/people/{id}/approval",
        approval_settings.allow,
        Right.ADMINISTER,
        SensitiveAct.PEOPLE,
    ),
    MerchantPage(
        "POST", "/dashboard/settings/people/{id}/link", people.give_link, Right.ADMINISTER, SensitiveAct.PASSWORD_LINK
    ),
    MerchantPage(
        "POST",
        "/dashboard/settings/people/{id}/mail",
        people.mail_new_link,
        Right.ADMINISTER,
        SensitiveAct.PASSWORD_LINK,
    ),
    MerchantPage(
        "GET", "/dashboard/settings/people/{id}/remove", people.confirm_remove, Right.ADMINISTER, SensitiveAct.PEOPLE
    ),
    MerchantPage(
        "POST", "/dashboard/settings/people/{id}/remove", people.remove, Right.ADMINISTER, SensitiveAct.PEOPLE
    ),
]
