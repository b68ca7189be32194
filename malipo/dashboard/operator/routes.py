"""Every page for operators. All but the log-in are for operators who are logged in; what each role may do is in
`operators/roles.py`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from malipo.accounts.reauthentication import SensitiveAct
from malipo.approvals.act_rules import (
    BANK,
    BANK_LINES,
    BOOKINGS,
    CANCELS,
    CLOSES,
    EXCEPTION_ACTIONS,
    EXCEPTION_UNDOS,
    OPEN_RESOLUTIONS,
    RESOLUTIONS,
    SETTLEMENT_ACTS,
    STATEMENT_UNDOS,
    Act,
    confirmation_of,
)
from malipo.dashboard import reauthentication_pages
from malipo.dashboard.language_choice import choose_language
from malipo.dashboard.operator import (
    audit_log,
    blocked_numbers,
    booking_history,
    bookings,
    cases,
    cases_chosen,
    casework,
    ledger_check,
    merchant_deliveries,
    merchants,
    networks,
    operator_roles,
    own_account,
    resolve_case,
    restore,
    unknown_callbacks,
    vouch,
    waiting_for_me,
)
from malipo.dashboard.operator.bank import decide as decide_bank
from malipo.dashboard.operator.bank import exceptions as bank_exceptions
from malipo.dashboard.operator.bank import our_accounts, payout_files
from malipo.dashboard.operator.bank import statements as bank_statements
from malipo.dashboard.operator.books import invoices, journal_files, month_end, safeguarding, suspense, trial_balance
from malipo.dashboard.operator.login_pages import LOGIN
from malipo.dashboard.operator.own_account import OWN
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
from malipo.dashboard.operator.settlements import bank_accounts, settlement_detail, settlement_list
from malipo.dashboard.operator.settlements import decide as decide_settlement
from malipo.dashboard.trusted_browser_pages import ending_trust, read_alert
from malipo.operators.roles import Right

Handler = Callable[[OperatorRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class OperatorPage:
    method: str
    path: str
    handler: Handler
    is_for_everybody: bool = False
    does: tuple[Act, ...] = ()  # one of these, of the table of operators' acts, which says what confirmation they need
    own: SensitiveAct | None = None  # what operators change about themselves
    needs: Right | None = None  # None: to read, for a page that is only looked at; to act, for a form

    @property
    def right(self) -> Right:
        return self.needs or (Right.READ if self.method == "GET" else Right.ACT)

    @property
    def act(self) -> SensitiveAct | None:
        """If the password, and the code, must have been typed a short time ago."""
        return confirmation_of(self.does) or self.own


# All that is open to who must set up a second factor first.
WITHOUT_SECOND_FACTOR = (OWN.path, "/operator/logout", "/operator/confirm")

_DELIVERIES = f"{merchants.PATH}/{{merchant}}/deliveries/{{endpoint}}"

PAGES = [
    OperatorPage("GET", "/operator/login", LOGIN.show, is_for_everybody=True),
    OperatorPage("POST", "/operator/login", LOGIN.log_in, is_for_everybody=True),
    OperatorPage("GET", "/operator/login/code", LOGIN.show_code, is_for_everybody=True),
    OperatorPage("POST", "/operator/login/code", LOGIN.check_code, is_for_everybody=True),
    OperatorPage("POST", "/operator/language", choose_language, is_for_everybody=True),
    OperatorPage("POST", "/operator/logout", LOGIN.log_out, needs=Right.OWN),
    OperatorPage("GET", "/operator/confirm", reauthentication_pages.show, needs=Right.OWN),
    OperatorPage("POST", "/operator/confirm", reauthentication_pages.confirm, needs=Right.OWN),
    OperatorPage("GET", "/operator", cases.show_all, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", "/operator/cases", cases.look_up, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", cases_chosen.PATH, cases_chosen.show),
    OperatorPage("POST", f"{cases_chosen.PATH}/propose", cases_chosen.propose, does=OPEN_RESOLUTIONS),
    OperatorPage("POST", f"{cases_chosen.PATH}/approve", cases_chosen.approve, does=RESOLUTIONS),
    OperatorPage("POST", f"{cases_chosen.PATH}/reject", cases_chosen.reject),
    OperatorPage("GET", "/operator/cases/{payment}", cases.show, needs=Right.READ_PAYMENTS),
    OperatorPage("POST", "/operator/cases/{payment}/propose", resolve_case.propose, does=RESOLUTIONS),
    OperatorPage("POST", "/operator/cases/{payment}/approve", resolve_case.approve, does=RESOLUTIONS),
    OperatorPage("POST", "/operator/cases/{payment}/reject", resolve_case.reject),
    OperatorPage("POST", "/operator/cases/{payment}/cancel", resolve_case.cancel, does=CANCELS),
    OperatorPage("POST", "/operator/cases/{payment}/assign", cases.assign),
    OperatorPage("POST", "/operator/cases/{payment}/attach", cases.add_file),
    OperatorPage("GET", f"{casework.PATH}/{{id}}", casework.download),
    OperatorPage("GET", waiting_for_me.PATH, waiting_for_me.show, needs=Right.ACT),
    OperatorPage("GET", "/operator/callbacks", unknown_callbacks.show, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", merchants.PATH, merchants.show_all, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", f"{merchants.PATH}/{{merchant}}", merchants.show, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", f"{merchants.PATH}/{{merchant}}/payments", merchants.show_payments, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", _DELIVERIES, merchant_deliveries.show, needs=Right.READ_PAYMENTS),
    OperatorPage("POST", f"{_DELIVERIES}/{{event}}/resend", merchant_deliveries.send_again, needs=Right.RESEND),
    OperatorPage("GET", "/operator/bookings", bookings.show),
    OperatorPage("GET", booking_history.PATH, booking_history.show),
    OperatorPage("POST", "/operator/bookings/approve", bookings.approve, does=BOOKINGS),
    OperatorPage("POST", "/operator/bookings/reject", bookings.reject),
    OperatorPage("GET", settlement_list.PATH, settlement_list.show),
    OperatorPage(
        "POST", f"{settlement_list.PATH}/release", settlement_list.propose_release, does=(Act.RELEASE_SETTLEMENTS,)
    ),
    OperatorPage("POST", f"{settlement_list.PATH}/approve", decide_settlement.approve, does=SETTLEMENT_ACTS),
    OperatorPage("POST", f"{settlement_list.PATH}/reject", decide_settlement.reject),
    OperatorPage("GET", f"{settlement_list.PATH}/{{id}}", settlement_detail.show),
    OperatorPage(
        "POST", f"{settlement_list.PATH}/{{id}}/cancel", settlement_detail.cancel, does=(Act.CANCEL_SETTLEMENT,)
    ),
    OperatorPage(
        "POST", f"{settlement_list.PATH}/{{id}}/collect", settlement_detail.collect, does=(Act.COLLECT_SETTLEMENT,)
    ),
    OperatorPage("GET", bank_accounts.PATH, bank_accounts.show_all),
    OperatorPage("GET", f"{bank_accounts.PATH}/{{id}}", bank_accounts.show),
    OperatorPage("POST", f"{bank_accounts.PATH}/{{id}}/verify", bank_accounts.verify, does=(Act.VERIFY_BANK_ACCOUNT,)),
    OperatorPage("POST", f"{bank_accounts.PATH}/{{id}}/reject", bank_accounts.reject, does=(Act.REJECT_BANK_ACCOUNT,)),
    OperatorPage("POST", f"{bank_accounts.PATH}/{{id}}/stop", bank_accounts.stop, does=(Act.STOP_BANK_ACCOUNT,)),
    OperatorPage("GET", our_accounts.PATH, our_accounts.show),
    OperatorPage("POST", our_accounts.PATH, our_accounts.add, does=(Act.ADD_PAYER_ACCOUNT,)),
    OperatorPage("POST", f"{our_accounts.PATH}/approve", decide_bank.approve, does=BANK),
    OperatorPage("POST", f"{our_accounts.PATH}/reject", decide_bank.reject),
    OperatorPage("GET", payout_files.PATH, payout_files.show_all),
    OperatorPage("POST", f"{payout_files.PATH}/gather", payout_files.gather_file, does=(Act.APPROVE_PAYOUT_FILE,)),
    OperatorPage("GET", f"{payout_files.PATH}/{{file}}", payout_files.show),
    OperatorPage("POST", f"{payout_files.PATH}/{{file}}/download", payout_files.download),
    OperatorPage("POST", f"{payout_files.PATH}/{{file}}/void", payout_files.propose_void, does=(Act.VOID_PAYOUT_FILE,)),
    OperatorPage(
        "POST", f"{payout_files.PATH}/{{file}}/refuse", payout_files.propose_refusal, does=(Act.REFUSE_TRANSFERS,)
    ),
    OperatorPage("GET", bank_statements.PATH, bank_statements.show_all),
    OperatorPage("GET", bank_statements.NEW, bank_statements.show_form),
    OperatorPage("POST", bank_statements.NEW, bank_statements.receive_upload),
    OperatorPage("GET", f"{bank_statements.NEW}/{{bank_upload}}", bank_statements.show_upload),
    OperatorPage(
        "POST",
        f"{bank_statements.NEW}/{{bank_upload}}/import",
        bank_statements.import_,
        does=(Act.IMPORT_BANK_STATEMENT,),
    ),
    OperatorPage("GET", f"{bank_statements.PATH}/{{bank_statement}}", bank_statements.show),
    OperatorPage(
        "POST",
        f"{bank_statements.PATH}/{{bank_statement}}/withdraw",
        bank_statements.propose_withdrawal,
        does=(Act.WITHDRAW_BANK_STATEMENT,),
    ),
    OperatorPage("GET", bank_exceptions.PATH, bank_exceptions.show_all),
    OperatorPage("POST", f"{bank_exceptions.PATH}/match", bank_exceptions.match_again),
    OperatorPage("GET", f"{bank_exceptions.PATH}/{{bank_exception}}", bank_exceptions.show),
    OperatorPage("POST", f"{bank_exceptions.PATH}/{{bank_exception}}/decide", bank_exceptions.decide, does=BANK_LINES),
    OperatorPage("POST", f"{bank_exceptions.PATH}/{{bank_exception}}/assign", bank_exceptions.assign),
    OperatorPage("POST", f"{bank_exceptions.PATH}/{{bank_exception}}/attach", bank_exceptions.add_file),
    OperatorPage("GET", statements.PATH, statements.show_all),
    OperatorPage("GET", new_statement.NEW, new_statement.show_form),
    OperatorPage("POST", new_statement.NEW, new_statement.receive_upload),
    OperatorPage("GET", f"{new_statement.NEW}/{{upload}}", new_statement.show),
    OperatorPage("POST", f"{new_statement.NEW}/{{upload}}/layout", new_statement.save_layout, does=(Act.SAVE_LAYOUT,)),
    OperatorPage("POST", f"{new_statement.NEW}/{{upload}}/words", new_statement.say_words, does=(Act.SAVE_LAYOUT,)),
    OperatorPage("POST", f"{new_statement.NEW}/{{upload}}/import", new_statement.import_, does=(Act.IMPORT,)),
    OperatorPage("GET", f"{statements.PATH}/{{id}}", statements.show),
    OperatorPage("POST", f"{statements.PATH}/{{id}}/propose", withdraw_statement.propose, does=STATEMENT_UNDOS),
    OperatorPage("POST", f"{statements.PATH}/{{id}}/approve", withdraw_statement.approve, does=STATEMENT_UNDOS),
    OperatorPage("POST", f"{statements.PATH}/{{id}}/reject", withdraw_statement.reject),
    OperatorPage("POST", f"{statements.PATH}/{{id}}/approve-import", decide_import.approve, does=(Act.IMPORT,)),
    OperatorPage("POST", f"{statements.PATH}/{{id}}/reject-import", decide_import.reject, does=(Act.REJECT_IMPORT,)),
    OperatorPage("GET", floats.PATH, floats.show),
    OperatorPage("POST", f"{floats.PATH}/read", floats.note_reading, does=(Act.NOTE_READING,)),
    OperatorPage("POST", f"{floats.PATH}/transfer", floats.transfer, does=(Act.TRANSFER,)),
    OperatorPage("POST", f"{floats.PATH}/approve", floats.approve, does=BOOKINGS),
    OperatorPage("POST", f"{floats.PATH}/reject", floats.reject),
    OperatorPage("GET", exceptions.PATH, exceptions.show_all),
    OperatorPage("GET", f"{exceptions.PATH}/chosen", exceptions.show_chosen),
    OperatorPage("POST", f"{exceptions.PATH}/propose", decide_exceptions.propose, does=EXCEPTION_ACTIONS),
    OperatorPage(
        "POST", f"{exceptions.PATH}/approve", decide_exceptions.approve, does=(*EXCEPTION_ACTIONS, *EXCEPTION_UNDOS)
    ),
    OperatorPage("POST", f"{exceptions.PATH}/reject", decide_exceptions.reject),
    OperatorPage("GET", f"{exceptions.PATH}/{{id}}", exceptions.show),
    OperatorPage("POST", f"{exceptions.PATH}/{{id}}/undo", decide_exceptions.undo, does=EXCEPTION_UNDOS),
    OperatorPage("POST", f"{exceptions.PATH}/{{id}}/assign", exceptions.assign),
    OperatorPage("POST", f"{exceptions.PATH}/{{id}}/attach", exceptions.add_file),
    OperatorPage("GET", close_day.PATH, close_day.show_all),
    OperatorPage("GET", f"{close_day.PATH}/day", close_day.choose),
    OperatorPage("GET", f"{close_day.PATH}/{{day}}", close_day.show),
    OperatorPage("GET", f"{close_day.PATH}/{{day}}/print", close_day.show_paper),
    OperatorPage("GET", f"{close_day.PATH}/{{day}}/close.csv", close_day.download),
    OperatorPage("GET", f"{close_day.PATH}/{{day}}/close.signed", close_verification.download_signed),
    OperatorPage("GET", f"{close_day.PATH}/{{day}}/close.sig", close_verification.download_signature),
    OperatorPage("GET", f"{close_day.PATH}/{{day}}/key.pem", close_verification.download_key),
    OperatorPage("POST", f"{close_day.PATH}/{{day}}/close", close_day.close, does=CLOSES),
    OperatorPage("POST", f"{close_day.PATH}/{{day}}/approve", close_day.approve, does=(Act.CLOSE_WITH_DIFFERENCE,)),
    OperatorPage("POST", f"{close_day.PATH}/{{day}}/reject", close_day.reject),
    OperatorPage("GET", trial_balance.PATH, trial_balance.show),
    OperatorPage("GET", f"{trial_balance.PATH}/journal.{{format}}", journal_files.send_journal),
    OperatorPage("GET", f"{trial_balance.PATH}/vouchers/{{format}}", journal_files.send_vouchers),
    OperatorPage("GET", month_end.PATH, month_end.show),
    OperatorPage("GET", f"{month_end.PATH}/{{month}}.zip", month_end.send_archive),
    OperatorPage("GET", invoices.PATH, invoices.show),
    OperatorPage("GET", f"{invoices.PATH}.csv", invoices.send_csv),
    OperatorPage("GET", f"{invoices.PATH}/{{number}}/pdf", invoices.send_pdf),
    OperatorPage("GET", safeguarding.PATH, safeguarding.show),
    OperatorPage("GET", suspense.PATH, suspense.show),
    OperatorPage("POST", f"{suspense.PATH}/release", suspense.release, does=(Act.SUSPENSE_RELEASE,)),
    OperatorPage("POST", f"{suspense.PATH}/take-back", suspense.take_back, does=(Act.SUSPENSE_TAKE_BACK,)),
    OperatorPage("GET", "/operator/restore", restore.show),
    OperatorPage("POST", "/operator/restore/release", restore.let_go, does=(Act.RELEASE,)),
    OperatorPage("POST", "/operator/restore/reject", restore.reject),
    OperatorPage("POST", "/operator/restore/hold", restore.begin_hold),
    OperatorPage("POST", "/operator/restore/end-hold", restore.end_hold, does=(Act.END_HOLD,)),
    OperatorPage("GET", "/operator/networks", networks.show, needs=Right.READ_PAYMENTS),
    OperatorPage("GET", blocked_numbers.PATH, blocked_numbers.show, needs=Right.READ_PAYMENTS),
    OperatorPage("POST", f"{blocked_numbers.PATH}/block", blocked_numbers.block),
    OperatorPage("POST", f"{blocked_numbers.PATH}/unblock", blocked_numbers.unblock),
    OperatorPage("GET", "/operator/ledger", ledger_check.show),
    OperatorPage("POST", "/operator/ledger", ledger_check.check, needs=Right.READ),  # It changes nothing.
    OperatorPage("GET", audit_log.PATH, audit_log.show),
    OperatorPage("GET", f"{audit_log.PATH}.csv", audit_log.download),
    OperatorPage("GET", operator_roles.PATH, operator_roles.show),
    OperatorPage("POST", f"{operator_roles.PATH}/approve", operator_roles.approve, does=(Act.GIVE_ROLE,)),
    OperatorPage("POST", f"{operator_roles.PATH}/reject", operator_roles.reject),
    OperatorPage("POST", vouch.PATH, vouch.vouch, does=(Act.VOUCH,)),
    OperatorPage("GET", own_account.PATH, own_account.show, needs=Right.OWN),
    OperatorPage("POST", own_account.ADDRESS, own_account.change_address, own=SensitiveAct.ADDRESS, needs=Right.OWN),
    OperatorPage("POST", own_account.MESSAGES, own_account.choose_messages, needs=Right.OWN),
    OperatorPage("POST", f"{own_account.PATH}/sessions/end", own_account.end_others, needs=Right.OWN),
    OperatorPage("POST", f"{own_account.PATH}/sessions/{{id}}/end", own_account.end_one, needs=Right.OWN),
    OperatorPage(
        "POST", f"{own_account.PATH}/browsers/{{id}}/end", ending_trust(f"{own_account.PATH}#browsers"), needs=Right.OWN
    ),
    OperatorPage("POST", "/operator/new-places/{id}/read", read_alert, needs=Right.OWN),
    OperatorPage("GET", OWN.path, OWN.show, needs=Right.OWN),
    OperatorPage("POST", OWN.path, OWN.enrol, own=SensitiveAct.SECOND_FACTOR, needs=Right.OWN),
    OperatorPage("GET", f"{OWN.path}/codes", OWN.show, needs=Right.OWN),
    OperatorPage("POST", f"{OWN.path}/codes", OWN.make_codes, own=SensitiveAct.SECOND_FACTOR, needs=Right.OWN),
    OperatorPage("GET", f"{OWN.path}/remove", OWN.confirm_remove, needs=Right.OWN),
    OperatorPage("POST", f"{OWN.path}/remove", OWN.remove, needs=Right.OWN),
]
