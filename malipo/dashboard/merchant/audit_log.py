"""The audit log of a merchant, as sentences. An action without a sentence here is not shown to merchants."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from malipo import money
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import api_key_of, is_person
from malipo.audit_log.store import AuditLogEntry
from malipo.dashboard import render
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import key_in
from malipo.db import Conn
from malipo.merchants.store import api_keys

PATH = "/dashboard/settings/activity"

SENTENCES = {
    "merchant.created": "Opened the account of this business",
    "merchant.activated": "Made this business active again",
    "merchant.deactivated": "Stopped this business",
    "receipt.erased": "Erased the receipt of {payment}: it proves nothing any more",
    "person.added": "Added {email} as {role}",
    "person.role_changed": "Made {email} {role}",
    "person.approval_changed": "Changed whether {email} may approve payouts",
    "person.removed": "Removed {email}",
    "person.vouched_for": "Vouched for {email}",
    "approval.rules_changed": "Changed when payouts need a second person",
    "approval.rules_requested": "Asked that fewer payouts need a second person",
    "password_link.made": "Made a link for a new password for {email}",
    "password_link.mailed": "Had a link for a new password sent to {email}",
    "password_link.used": "Used a link for a new password",
    "password.changed": "Chose a new password",
    "session.begun": "Logged in",
    "session.logged_out": "Logged out",
    "session.refresh_reused": "A refresh token was used twice, so its session was ended",
    "login.failed": "Did not get in: the password was wrong",
    "login.failed_often": "Within an hour: {failures} more wrong passwords, and {throttled} attempts that were not "
    "looked at",
    "login.code_asked": "Typed the right password, and was asked for a code",
    "login.code_asked_often": "Within an hour: the right password {failures} more times, and a code was asked for",
    "session.ended": "Ended another session of theirs",
    "session.others_ended": "Ended all other sessions of theirs",
    "session.new_place": "Logged in from a new place ({network})",
    "session.new_place_known": "Said that a log-in from a new place was theirs",
    "second_factor.enrolled": "Set up two-step log-in",
    "second_factor.removed": "Removed their two-step log-in",
    "second_factor.recovery_codes_made": "Made new recovery codes",
    "second_factor.recovery_code_used": "Used a recovery code; {left} are left",
    "second_factor.code_failed": "Typed a wrong code",
    "second_factor.code_failed_often": "Within an hour: {failures} more wrong codes, and {throttled} codes that were "
    "not looked at",
    "second_factor.reset": "Reset the two-step log-in of {account}",
    "second_factor.required": "Required two-step log-in of everybody",
    "second_factor.not_required": "No longer required two-step log-in of everybody",
    "browser.trusted": "Chose not to be asked for a code on a browser for 30 days",
    "browser.trust_ended": "Had a browser asked for a code again",
    "api_key.created": "Created the API key “{name}” that ends in {last4}",
    "api_key.proposed": "Proposed the API key “{name}”: another operator must approve it",
    "api_key.rejected": "Rejected the proposed API key “{name}”",
    "api_key.changed": "Changed the API key “{name}”",
    "api_key.revoked": "Revoked an API key",
    "idempotency_key.required": "Required an Idempotency-Key for what moves money",
    "idempotency_key.not_required": "No longer required an Idempotency-Key",
    "profile.changed": "Changed what customers see of the business",
    "profile.logo_set": "Changed the logo that customers see",
    "profile.logo_removed": "Removed the logo that customers see",
    "webhook.registered": "Added the webhook endpoint {url}",
    "webhook.changed": "Changed the webhook endpoint {url}",
    "webhook.deleted": "Deleted the webhook endpoint {url}",
    "webhook.rotation_begun": "Began to change a webhook secret",
    "webhook.rotation_finished": "Finished changing a webhook secret",
    "webhook.tested": "Sent a test webhook",
    "webhook.redelivered": "Sent a webhook again",
    "webhook.recovered": "Had {deliveries} missed webhooks sent again",
    "webhook.switched_off": "A webhook endpoint was disabled",
    "payment.initiated": "Made a payment of {amount} in the dashboard",
    "payment.cancelled": "Cancelled a payment in the dashboard",
    "recipient.looked_up": "Looked up the name behind {phone}",
    "recipients.looked_up": "Looked up the names behind {count} numbers",
    "refund.withheld": "Did not send a refund: the money was given back, or taken back, already",
    "payout.withheld": "Did not send a payout: the failed one that it pays again was paid after all",
    "payout.in_doubt": "Did not send a payout again: it may have been paid, and the failed one before it was",
    "refund.in_doubt": "Did not send a refund again: it may have been paid, and the money was given or taken back",
    "payment.resolved": "Decided how a payment of {amount} has ended",
    "batch.created": "Made a batch of {items} payouts, {amount} in all",
    "batch.approved": "Approved a batch of {items} payouts, {amount} in all",
    "batch.cancelled": "Cancelled {items} payouts of a batch",
    "bank_account.added": "Added the bank account {bic} {number}",
    "bank_account.confirmed": "Confirmed the bank account {bic} {number} after a restore",
    "bank_account.verified": "Verified a bank account",
    "bank_account.rejected": "Rejected the bank account {bic} {number}",
    "bank_account.stopped": "Stopped the bank account {bic} {number}",
    "settlement.schedule_set": "Changed the schedule of settlements",
    "settlement.requested": "Requested a settlement to the bank",
    "settlement.cancelled": "Cancelled a settlement to the bank",
    "link.created": "Made a payment link",
    "link.cancelled": "Cancelled a payment link",
    "wallet.top_up": "Put {amount} into the wallet",
    "wallet.settlement": "Sent you {amount} from the wallet",
    "tariff.set": "Set the fees",
}
_KEY = "The API key “{name}” that ends in {last4}"
ROLES = {"owner": "owner", "staff": "staff", "viewer": "viewer"}
WHO = {"operator": "The operators of this service", "malipo": "malipo"}

_PER_PAGE = 50
# The subject of each kind of entry, and the page that shows it, where there is one.
_LINKS = {
    "transaction": "/dashboard/transactions/{}",
    "endpoint": "/dashboard/webhooks/{}",
    "link": "/dashboard/links/{}",
}
_WITHOUT_LINK = ("webhook.deleted",)


async def show(request: MerchantRequest) -> Response:
    before = key_in(request)

    async def find(connection: Conn) -> tuple[list[AuditLogEntry], Mapping[str, tuple[str, str]]]:
        found = await audit_log.find_of_merchant(
            connection, request.merchant_id, kinds=SENTENCES, before=before, limit=_PER_PAGE + 1
        )
        key_ids = {key_id for each in found if (key_id := api_key_of(each.actor)) is not None}
        return found, await api_keys.find_names(connection, request.merchant_id, key_ids) if key_ids else {}

    found, keys = await request.parts.queries.read(find, may_lag=True)
    return render.page(
        request,
        "merchant/settings/audit_log.html",
        deeds=[_told(request.words, each, keys) for each in found[:_PER_PAGE]],
        newest=PATH if before else None,
        older=f"{PATH}?before={found[_PER_PAGE - 1].id}" if len(found) > _PER_PAGE else None,
    )


def _told(words: Translator, deed: AuditLogEntry, keys: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    key = keys.get(api_key_of(deed.actor) or "")
    is_one_of_theirs = is_person(deed.actor) or key is not None
    return {
        "at": deed.created_at,
        "sentence": sentence_of(words, deed),
        "actor": _who(words, deed.actor, key),
        # The address of an operator is not shown to merchants.
        "address": deed.address if is_one_of_theirs else None,
        "href": _link(deed),
    }


def _who(words: Translator, actor: str, key: tuple[str, str] | None) -> str:
    if key is not None:
        return words(_KEY, name=key[0], last4=key[1])
    return actor if is_person(actor) else words(WHO.get(actor, WHO["operator"]))


def sentence_of(words: Translator, deed: AuditLogEntry) -> str:
    return words(SENTENCES[deed.action]).format_map(values_of(words, deed))


def values_of(words: Translator, deed: AuditLogEntry) -> Mapping[str, str]:
    """The values of its sentence. An entry with fewer details than that needs is shown all the same."""
    return _Values({name: _shown(words, name, value) for name, value in deed.details.items()})


class _Values(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "?"


def _shown(words: Translator, name: str, value: Any) -> str:
    if name == "amount" and isinstance(value, int):
        return money.display(value)
    if name == "role":
        return words(ROLES.get(str(value), str(value)))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _link(deed: AuditLogEntry) -> str | None:
    details: Mapping[str, Any] = {} if deed.action in _WITHOUT_LINK else deed.details
    return next((path.format(details[name]) for name, path in _LINKS.items() if name in details), None)
