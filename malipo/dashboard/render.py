"""Renders templates, in the reader's language."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from malipo import money
from malipo.accounts.second_factor.second_step import SecondStepRefusal
from malipo.dashboard import cookies
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.language import NAMES, Translator
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.http.accept_language import Language
from malipo.words.say import SENTENCES as REFUSALS


@cache
def templates() -> Environment:
    loader = PackageLoader("malipo.dashboard")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"money": money.display, "phone": phone}
    made.globals["exact"] = money.exact
    return made


def page(request: BrowserRequest, template: str, *, status: int = 200, **values: Any) -> Response:
    text = render(request, template, **values)
    response = Response(text, status, media_type="text/html", headers=SECURITY_HEADERS)
    if request.notice is not None:
        cookies.clear_notice(response, path=request.root)
    return response


def render(request: BrowserRequest, template: str, **values: Any) -> str:
    words = request.words
    return (
        templates()
        .get_template(template)
        .render(
            values
            | {
                "_": words,
                "ngettext": words.plural,
                "moment": lambda at: moment(words, at),
                "language": words.language,
                "languages": {each: NAMES[each] for each in Language},
                "token": request.form_token,
                "notice": words(NOTICES[request.notice]) if request.notice in NOTICES else None,
                "here": request.http.url.path,
                "place": request.place,
                "root": request.root,
                "is_simulated": request.parts.settings.simulated,
            }
            | request.frame
        )
    )


def moment(words: Translator, at: datetime | None) -> Markup:
    """A time in Dar es Salaam, with UTC as its title."""
    if at is None:
        return Markup("–")
    utc = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        utc.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"{utc:%Y-%m-%d %H:%M:%S} UTC", words.moment(at)
    )


def phone(number: str) -> str:
    """`+255 754 000 100`."""
    return f"{number[:4]} {number[4:7]} {number[7:10]} {number[10:]}" if number.startswith("+255") else number


# Flash messages: sentences at the top of the page after something was done, by the names that cookies carry.


NOTICES = {
    "logged-out": "You are logged out.",
    "case-proposed": "It is proposed. Another operator must look at the evidence, and approve or reject it.",
    "case-settled": "It is settled.",
    "case-rejected": "The proposal is rejected. The payment is as it was.",
    "booking-approved": "It is approved and booked.",
    "booking-rejected": "The proposal is rejected. Nothing was booked.",
    "statement-imported": "The statement is imported.",
    "statement-repeat": "This file was imported before. Nothing was done.",
    "statement-proposed": "It is proposed. Another operator must look for themselves, and approve or reject it.",
    "statement-withdrawn": "The import is withdrawn. Its bookings are booked back, and its lines no longer count.",
    "statement-booking-undone": "The booking is undone. Its lines are open among the exceptions.",
    "import-approved": "Approved: the payments of the list are ended or contradicted.",
    "import-rejected": "Rejected: no payment has changed. Each line of the list is an exception.",
    "statement-rejected": "The proposal is rejected. Nothing was done.",
    "reading-noted": "The reading is noted. It moves nothing.",
    "transfer-booked": "The transfer is booked.",
    "transfer-proposed": "The transfer is proposed. Another operator must approve it.",
    "day-closed": "The day is closed and signed.",
    "day-proposed": "It is proposed to close the day as it is. Another operator must approve it.",
    "day-rejected": "The proposal is rejected. The day stays open.",
    "day-not-next": "That day cannot be closed now: days are closed in order.",
    "exceptions-proposed": "It is proposed. Another operator must look for themselves, and approve or reject it.",
    "exceptions-approved": "It is done.",
    "exceptions-rejected": "The proposal is rejected. Nothing was done.",
    "exceptions-undone": "It is undone.",
    "layout-saved": "The layout is saved. The next file of it is read without a question.",
    "person-vouched-for": "They count as a second person for payouts again.",
    "approval-waits": "What is stricter holds now. The rest waits for another owner, or for 72 hours.",
    "vouched-for": "They count again where a decision takes two operators.",
    "release-proposed": "It is proposed. Another operator must look for themselves, and approve it.",
    "release-rejected": "The proposal is rejected. Nothing is sent by it.",
    "released": "It is released: sending begins.",
    "held": "It is held. Nothing of it is sent.",
    "hold-ended": "It is no longer held.",
    "password-chosen": "Your password is saved. Log in with it.",
    "payment-made": "It is taken in. Below you see how it goes on.",
    "payment-once": "This form was sent more than once. It made one payment: this one.",
    "not-again": "Only a payment that has failed, and that its network has not corrected since, is tried again here.",
    "made-again": "That was tried again already: here.",
    "refund-changed": "Nothing was refunded: the payment has changed since you looked.",
    "payment-cancelled": "It is cancelled.",
    "draft-deleted": "The upload is deleted. Nothing was paid.",
    "batch-made": "It is submitted. It is paid out as soon as somebody approves it.",
    "batch-once": "This was submitted more than once. It made one batch: this one.",
    "batch-again": "What failed was submitted again already: in this batch.",
    "nothing-failed": "No payout of it can be paid again: none has failed, or not all have ended yet.",
    "batch-approved": "It is approved. Below you see how far it is.",
    "batch-cancelled": "It is cancelled. What was sent already goes on.",
    "key-required": "A collection or payout without an Idempotency-Key is refused from now on.",
    "key-optional": "An Idempotency-Key is no longer required.",
    "key-changed": "The key is changed. It holds from the next request on.",
    "key-gone": "That key was revoked meanwhile. Nothing was changed.",
    "key-revoked": "The key is revoked. It no longer works.",
    "webhook-changed": "It is saved.",
    "webhook-paused": "It is paused. Nothing is sent there.",
    "webhook-resumed": "It is on again.",
    "webhook-deleted": "The endpoint is deleted.",
    "rotation-finished": "Only the new secret signs from now on.",
    "delivery-again": "It is on its way once more.",
    "recovered": "What was missed is on its way.",
    "recovered-none": "There was nothing to send again: everything since then was taken.",
    "session-ended": "That session has ended.",
    "sessions-ended": "All other sessions have ended.",
    "login-over": REFUSALS[SecondStepRefusal.OVER],
    "second-factor-removed": "Two-step log-in is removed. Your other sessions have ended.",
    "second-factor-reset": "It is reset, and they are logged out everywhere.",
    "second-factor-required": "Two-step log-in is required for everybody now.",
    "second-factor-optional": "Two-step log-in is no longer required.",
    "trust-ended": "That browser is asked for a code again.",
    "approval-changed": "The rules of approval are changed.",
    "role-changed": "The role is changed.",
    "person-removed": "They are removed, and logged out everywhere.",
}
