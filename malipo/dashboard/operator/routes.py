"""Every page for operators. All but the log-in are for operators who are logged in; each of them may do everything."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.dashboard.language_choice import choose_language
from malipo.dashboard.operator import (
    bookings,
    cases,
    ledger_check,
    networks,
    resolve_case,
    restore,
    unknown_callbacks,
)
from malipo.dashboard.operator.login_pages import LOGIN
from malipo.dashboard.operator.request import OperatorRequest

Handler = Callable[[OperatorRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    method: str
    path: str
    handler: Handler
    is_for_everybody: bool = False


PAGES = [
    Page("GET", "/operator/login", LOGIN.show, is_for_everybody=True),
    Page("POST", "/operator/login", LOGIN.log_in, is_for_everybody=True),
    Page("POST", "/operator/language", choose_language, is_for_everybody=True),
    Page("POST", "/operator/logout", LOGIN.log_out),
    Page("GET", "/operator", cases.show_all),
    Page("GET", "/operator/cases", cases.look_up),
    Page("GET", "/operator/cases/{payment}", cases.show),
    Page("POST", "/operator/cases/{payment}/propose", resolve_case.propose),
    Page("POST", "/operator/cases/{payment}/approve", resolve_case.approve),
    Page("POST", "/operator/cases/{payment}/reject", resolve_case.reject),
    Page("POST", "/operator/cases/{payment}/cancel", resolve_case.cancel),
    Page("GET", "/operator/callbacks", unknown_callbacks.show),
    Page("GET", "/operator/bookings", bookings.show),
    Page("POST", "/operator/bookings/approve", bookings.approve),
    Page("POST", "/operator/bookings/reject", bookings.reject),
    Page("GET", "/operator/restore", restore.show),
    Page("POST", "/operator/restore/release", restore.let_go),
    Page("POST", "/operator/restore/reject", restore.reject),
    Page("POST", "/operator/restore/hold", restore.begin_hold),
    Page("POST", "/operator/restore/end-hold", restore.end_hold),
    Page("GET", "/operator/networks", networks.show),
    Page("GET", "/operator/ledger", ledger_check.show),
    Page("POST", "/operator/ledger", ledger_check.check),
]
