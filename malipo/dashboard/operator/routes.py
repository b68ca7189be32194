"""Every page for operators. All but the log-in are for operators who are logged in; each of them may do everything."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.dashboard.entrance import choose_language
from malipo.dashboard.operator import bookings, callbacks, cases, decide, entrance, ledger, networks, restore
from malipo.dashboard.operator.visit import OperatorVisit

Handler = Callable[[OperatorVisit], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    method: str
    path: str
    handler: Handler
    is_for_everybody: bool = False


PAGES = [
    Page("GET", "/operator/login", entrance.show, is_for_everybody=True),
    Page("POST", "/operator/login", entrance.log_in, is_for_everybody=True),
    Page("POST", "/operator/language", choose_language, is_for_everybody=True),
    Page("POST", "/operator/logout", entrance.log_out),
    Page("GET", "/operator", cases.show_all),
    Page("GET", "/operator/cases", cases.look_up),
    Page("GET", "/operator/cases/{payment}", cases.show),
    Page("POST", "/operator/cases/{payment}/propose", decide.propose),
    Page("POST", "/operator/cases/{payment}/approve", decide.approve),
    Page("POST", "/operator/cases/{payment}/reject", decide.reject),
    Page("POST", "/operator/cases/{payment}/cancel", decide.cancel),
    Page("GET", "/operator/callbacks", callbacks.show),
    Page("GET", "/operator/bookings", bookings.show),
    Page("POST", "/operator/bookings/approve", bookings.approve),
    Page("POST", "/operator/bookings/reject", bookings.reject),
    Page("GET", "/operator/restore", restore.show),
    Page("POST", "/operator/restore/release", restore.let_go),
    Page("POST", "/operator/restore/reject", restore.reject),
    Page("POST", "/operator/restore/hold", restore.begin_hold),
    Page("POST", "/operator/restore/end-hold", restore.end_hold),
    Page("GET", "/operator/networks", networks.show),
    Page("GET", "/operator/ledger", ledger.show),
    Page("POST", "/operator/ledger", ledger.check),
]
