"""Every page for operators. All but the log-in are for operators who are logged in; each of them may do everything."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.accounts.reauthentication import SensitiveAct
from malipo.approvals.acts import (
    BOOKINGS,
    CANCELS,
    CLOSES,
    EXCEPTION_ACTIONS,
    EXCEPTION_UNDOS,
    RESOLUTIONS,
    STATEMENT_UNDOS,
    Act,
    confirmation_of,
)
from malipo.dashboard import reauthentication_pages
from malipo.dashboard.language_choice import choose_language
from malipo.dashboard.operator import (
    account,
    audit_log,
    bookings,
    cases,
    ledger_check,
    networks,
    resolve_case,
    restore,
    unknown_callbacks,
    vouch,
)
from malipo.dashboard.operator.account import OWN
from malipo.dashboard.operator.login_pages import LOGIN
from malipo.dashboard.operator.reconciliation import (
    close_day,
    close_verification,
    decide_exceptions,
    decide_import,
    exceptions,
    floats,
    new_statement,
    statements,
    withdraw_statement,
)
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.trust_pages import ending_trust, read_alert

Handler = Callable[[OperatorRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Page:
    method: str
    path: str
    handler: Handler
    is_for_everybody: bool = False
    does: tuple[Act, ...] = ()  # one of these, of the table of operators' acts, which says what confirmation they need
    own: SensitiveAct | None = None  # what operators change about themselves

    @property
    def act(self) -> SensitiveAct | None:
        """If the password, and the code, must have been typed a short time ago."""
        return confirmation_of(self.does) or self.own


# All that is open to who must set up a second factor first.
WITHOUT_SECOND_FACTOR = (OWN.path, "/operator/logout", "/operator/confirm")

PAGES = [
    Page("GET", "/operator/login", LOGIN.show, is_for_everybody=True),
    Page("POST", "/operator/login", LOGIN.log_in, is_for_everybody=True),
    Page("GET", "/operator/login/code", LOGIN.show_code, is_for_everybody=True),
    Page("POST", "/operator/login/code", LOGIN.check_code, is_for_everybody=True),
    Page("POST", "/operator/language", choose_language, is_for_everybody=True),
    Page("POST", "/operator/logout", LOGIN.log_out),
    Page("GET", "/operator/confirm", reauthentication_pages.show),
    Page("POST", "/operator/confirm", reauthentication_pages.confirm),
    Page("GET", "/operator", cases.show_all),
    Page("GET", "/operator/cases", cases.look_up),
    Page("GET", "/operator/cases/{payment}", cases.show),
    Page("POST", "/operator/cases/{payment}/propose", resolve_case.propose, does=RESOLUTIONS),
    Page("POST", "/operator/cases/{payment}/approve", resolve_case.approve, does=RESOLUTIONS),
    Page("POST", "/operator/cases/{payment}/reject", resolve_case.reject),
    Page("POST", "/operator/cases/{payment}/cancel", resolve_case.cancel, does=CANCELS),
    Page("GET", "/operator/callbacks", unknown_callbacks.show),
    Page("GET", "/operator/bookings", bookings.show),
    Page("POST", "/operator/bookings/approve", bookings.approve, does=BOOKINGS),
    Page("POST", "/operator/bookings/reject", bookings.reject),
    Page("GET", statements.PATH, statements.show_all),
    Page("GET", new_statement.NEW, new_statement.show_form),
    Page("POST", new_statement.NEW, new_statement.take),
    Page("GET", f"{new_statement.NEW}/{{upload}}", new_statement.show),
    Page("POST", f"{new_statement.NEW}/{{upload}}/layout", new_statement.save_layout, does=(Act.SAVE_LAYOUT,)),
    Page("POST", f"{new_statement.NEW}/{{upload}}/words", new_statement.say_words, does=(Act.SAVE_LAYOUT,)),
    Page("POST", f"{new_statement.NEW}/{{upload}}/import", new_statement.import_, does=(Act.IMPORT,)),
    Page("GET", f"{statements.PATH}/{{id}}", statements.show),
    Page("POST", f"{statements.PATH}/{{id}}/propose", withdraw_statement.propose, does=STATEMENT_UNDOS),
    Page("POST", f"{statements.PATH}/{{id}}/approve", withdraw_statement.approve, does=STATEMENT_UNDOS),
    Page("POST", f"{statements.PATH}/{{id}}/reject", withdraw_statement.reject),
    Page("POST", f"{statements.PATH}/{{id}}/approve-import", decide_import.approve, does=(Act.IMPORT,)),
    Page("POST", f"{statements.PATH}/{{id}}/reject-import", decide_import.reject, does=(Act.REJECT_IMPORT,)),
    Page("GET", floats.PATH, floats.show),
    Page("POST", f"{floats.PATH}/read", floats.note_reading, does=(Act.NOTE_READING,)),
    Page("POST", f"{floats.PATH}/transfer", floats.transfer, does=(Act.TRANSFER,)),
    Page("POST", f"{floats.PATH}/approve", floats.approve, does=BOOKINGS),
    Page("POST", f"{floats.PATH}/reject", floats.reject),
    Page("GET", exceptions.PATH, exceptions.show_all),
    Page("GET", f"{exceptions.PATH}/chosen", exceptions.show_chosen),
    Page("POST", f"{exceptions.PATH}/propose", decide_exceptions.propose, does=EXCEPTION_ACTIONS),
    Page("POST", f"{exceptions.PATH}/approve", decide_exceptions.approve, does=(*EXCEPTION_ACTIONS, *EXCEPTION_UNDOS)),
    Page("POST", f"{exceptions.PATH}/reject", decide_exceptions.reject),
    Page("GET", f"{exceptions.PATH}/{{id}}", exceptions.show),
    Page("POST", f"{exceptions.PATH}/{{id}}/undo", decide_exceptions.undo, does=EXCEPTION_UNDOS),
    Page("GET", close_day.PATH, close_day.show_all),
    Page("GET", f"{close_day.PATH}/day", close_day.choose),
    Page("GET", f"{close_day.PATH}/{{day}}", close_day.show),
    Page("GET", f"{close_day.PATH}/{{day}}/print", close_day.show_paper),
    Page("GET", f"{close_day.PATH}/{{day}}/close.csv", close_day.download),
    Page("GET", f"{close_day.PATH}/{{day}}/close.signed", close_verification.download_signed),
    Page("GET", f"{close_day.PATH}/{{day}}/close.sig", close_verification.download_signature),
    Page("GET", f"{close_day.PATH}/{{day}}/key.pem", close_verification.download_key),
    Page("POST", f"{close_day.PATH}/{{day}}/close", close_day.close, does=CLOSES),
    Page("POST", f"{close_day.PATH}/{{day}}/approve", close_day.approve, does=(Act.CLOSE_WITH_DIFFERENCE,)),
    Page("POST", f"{close_day.PATH}/{{day}}/reject", close_day.reject),
    Page("GET", "/operator/restore", restore.show),
    Page("POST", "/operator/restore/release", restore.let_go, does=(Act.RELEASE,)),
    Page("POST", "/operator/restore/reject", restore.reject),
    Page("POST", "/operator/restore/hold", restore.begin_hold),
    Page("POST", "/operator/restore/end-hold", restore.end_hold, does=(Act.END_HOLD,)),
    Page("GET", "/operator/networks", networks.show),
    Page("GET", "/operator/ledger", ledger_check.show),
    Page("POST", "/operator/ledger", ledger_check.check),
    Page("GET", audit_log.PATH, audit_log.show),
    Page("GET", f"{audit_log.PATH}.csv", audit_log.download),
    Page("POST", vouch.PATH, vouch.vouch, does=(Act.VOUCH,)),
    Page("GET", account.PATH, account.show),
    Page("POST", f"{account.PATH}/sessions/end", account.end_others),
    Page("POST", f"{account.PATH}/sessions/{{id}}/end", account.end_one),
    Page("POST", f"{account.PATH}/browsers/{{id}}/end", ending_trust(f"{account.PATH}#browsers")),
    Page("POST", "/operator/new-places/{id}/read", read_alert),
    Page("GET", OWN.path, OWN.show),
    Page("POST", OWN.path, OWN.enrol, own=SensitiveAct.SECOND_FACTOR),
    Page("GET", f"{OWN.path}/codes", OWN.show),
    Page("POST", f"{OWN.path}/codes", OWN.make_codes, own=SensitiveAct.SECOND_FACTOR),
    Page("GET", f"{OWN.path}/remove", OWN.ask_to_remove),
    Page("POST", f"{OWN.path}/remove", OWN.remove),
]
