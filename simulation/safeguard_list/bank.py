"""The bank: a settlement is in one file, a file is paid once, and a line of the bank counts once."""

from malipo.bank import gather_payout_file, line_decision, payout_file, void_payout_file, withdraw_statement
from malipo.bank.store import lines, statements
from malipo.bank_evidence import coverage as statement_days
from malipo.settlement import payout_files as filed
from malipo.settlement import release
from malipo.settlement.store import releases, settlements
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

_GATHERED_WHEN_DUE = InFunction(
    settlements.lock_due,
    "s.status = 'REQUESTED' AND s.payout_file_id IS NULL",
    "s.status IN ('REQUESTED', 'SENT')",
)
_IN_ONE_FILE = (
    InFunction(filed.mark_in_file, "elif each.status is not SettlementStatus.REQUESTED:", "elif False:"),
    InFunction(filed.mark_in_file, "elif each.is_in_file:", "elif False:"),
)
_IN_ONE_FILE_STORED = "DROP INDEX payout_file_lines_in_one_file"
_NOT_COVERED = InFunction(
    payout_file.why_not_void,
    "return None if is_covered(covered, *days) else FileRefusal.NOT_COVERED",
    "return None",
)
_PAID_NOT_SENT = InFunction(
    gather_payout_file._find_paid,
    "return dict.fromkeys(await debits.find_perhaps_paid(connection, known), PAID_ALREADY)",
    "return {}",
)
_UNKNOWN_DEBITS = InFunction(
    gather_payout_file.apply, "if unknown := await release.count_unknown_debits(tx):", "if False:"
)
_RELEASED = InFunction(release.require_released, "if not await releases.lock_if_released(tx):", "if False:")
_COMPARED = InFunction(release.require_released, "if await installation.why_not_cancel(tx) is not None:", "if False:")
_LINE_KNOWN = InFunction(
    statements.put_lines,
    "SELECT FROM known b WHERE ({_ENTRY}) = (",
    "SELECT FROM known b WHERE false AND ({_ENTRY}) = (",
)
_LINES_ONCE = "ALTER TABLE bank_lines DROP CONSTRAINT bank_lines_once"
_DEBITED_ONCE = InFunction(line_decision._why_not_debit, "if settlement.has_debit:", "if False:")
_DEBIT_OF_SENT = InFunction(
    line_decision._why_not_debit, "if settlement.status is not SettlementStatus.SENT:", "if False:"
)
_RETURNED_ONCE = InFunction(line_decision._why_not_return, "if settlement.has_return:", "if False:")

SAFEGUARDS = (
    Safeguard(
        "gathered-when-due",
        "Only what is in no file, and was not sent, is gathered into one.",
        (_GATHERED_WHEN_DUE,),
    ),
    Safeguard(
        "gathered-when-due+in-one-file",
        "Both together, and the database's own rule: a settlement is in one file at a time.",
        (_GATHERED_WHEN_DUE, *_IN_ONE_FILE),
        (_IN_ONE_FILE_STORED,),
    ),
    Safeguard(
        "void-needs-statements",
        "A file that the bank has not refused is voided only when statements show that it was not paid.",
        (_NOT_COVERED,),
    ),
    Safeguard(
        "void-waits-for-booking",
        "They must cover the days on which the bank may still book it.",
        (
            InFunction(
                payout_file.days_to_pay,
                "banking_days.booked_by(downloaded_on or approved_on)",
                "approved_on",
            ),
        ),
    ),
    Safeguard(
        "void-not-when-paid",
        "A file with a line on a statement is not voided.",
        (InFunction(payout_file.why_not_void, "if is_paid:", "if False:"),),
        note="hardly simulated: statements must cover a file's days while a line of it waits for "
        "operators; tests hold it",
    ),
    Safeguard(
        "refused-not-when-paid",
        "A transfer that has ended, or that a line of the bank has, is not noted as refused.",
        (
            InFunction(
                void_payout_file._require_open,
                "if each.settlement_id not in open_ or each.settlement_id in paid:",
                "if False:",
            ),
        ),
        note="not simulated: treasurers note only what the bank's answer lists as refused, and once; tests hold it",
    ),
    Safeguard(
        "paid-not-sent",
        "What a line of the bank has, that waits for operators, is not sent.",
        (_PAID_NOT_SENT,),
        note="hardly simulated: what was paid must wait for operators who cannot adopt it; tests hold it",
    ),
    Safeguard(
        "unknown-debits-stop-files",
        "No file is approved while debits are unknown: their merchants could ask for them again.",
        (_UNKNOWN_DEBITS,),
        note="hardly simulated: treasurers adopt what is unknown on the day of its statement, but for "
        "sums of lost files",
    ),
    Safeguard(
        "sent-when-released",
        "After a restore no file is approved before operators have released settlements.",
        (_RELEASED,),
    ),
    Safeguard(
        "sent-when-compared",
        "No file is approved before a worker has compared the database with its mark.",
        (_COMPARED,),
    ),
    Safeguard(
        "released-when-covered",
        "Settlements are released only when statements cover what was lost.",
        (InFunction(release.why_not_covered, "first, last = await find_lost_time(connection)", "return None"),),
    ),
    Safeguard(
        "release-waits-for-booking",
        "They must cover the days on which the bank may still book a lost file.",
        (InFunction(release.find_lost_time, "banking_days.booked_by(day)", "day"),),
    ),
    Safeguard(
        "every-account-covered",
        "Statements of all of our bank accounts must cover it.",
        (
            InFunction(
                release.why_not_covered,
                "if all(is_covered(stretches(each), first, last) for each in spans.values()):",
                "if any(is_covered(stretches(each), first, last) for each in spans.values()):",
            ),
        ),
        note="not simulated: there is one account of ours; a test with two holds it",
    ),
    Safeguard(
        "fenced-sends-no-file",
        "While the installation is fenced, settlements are not released.",
        (InConstant(releases, "IS_RELEASED", "i.fenced_at IS NULL AND ", ""),),
        note="covered by sent-when-compared, and by the release, which is of one epoch",
    ),
    Safeguard(
        "line-known",
        "A line that another statement has too is the same line.",
        (_LINE_KNOWN,),
    ),
    Safeguard(
        "line-known+lines-once",
        "Both together: a line of the bank counts once, whichever files have it.",
        (_LINE_KNOWN,),
        (_LINES_ONCE,),
    ),
    Safeguard(
        "line-keeps-its-place",
        "A line that has its place is not matched again.",
        (
            InConstant(
                lines, "UNMATCHED", "NOT EXISTS (SELECT FROM bank_line_matches m WHERE m.line_id = b.id)", "true"
            ),
        ),
    ),
    Safeguard(
        "debited-once",
        "A second debit with one key is not the settlement's.",
        (_DEBITED_ONCE,),
        note="covered by debit-of-sent: what was paid is no longer sent",
    ),
    Safeguard(
        "debit-of-sent",
        "A debit completes only what was sent.",
        (_DEBIT_OF_SENT,),
    ),
    Safeguard(
        "debited-once+debit-of-sent",
        "Both together: what operators must see is not taken for the debit of a settlement.",
        (_DEBITED_ONCE, _DEBIT_OF_SENT),
    ),
    Safeguard(
        "returned-once",
        "Money with one key comes back into the wallet once.",
        (_RETURNED_ONCE,),
    ),
    Safeguard(
        "return-of-paid",
        "Only what the bank has paid comes back.",
        (InFunction(line_decision._why_not_return, "if not settlement.has_debit:", "if False:"),),
        note="not simulated: statements come in the order of their days, and lost debits are adopted "
        "first; a test of every order holds it",
    ),
    Safeguard(
        "debits-before-returns",
        "Lines are matched by their days, and of one day the debits first.",
        (
            InFunction(
                line_decision._Book.decide,
                "ordered = sorted(lines, key=lambda each: (each.booked_on, each.cents > 0, each.id))",
                "ordered = sorted(lines, key=lambda each: (each.cents < 0, each.id))",
            ),
        ),
        note="not simulated: returns come on a later day, and statements in the order of their days; a "
        "test of every order holds it",
    ),
    Safeguard(
        "sum-is-exact",
        "One sum of a file completes its settlements only if it is exactly theirs.",
        (
            InFunction(
                line_decision._Book._sum, "if -line.cents != 100 * sum(each.net for each in open_):", "if False:"
            ),
        ),
    ),
    Safeguard(
        "sum-is-of-its-open",
        "A sum pays those of a file that are sent, and no others.",
        (
            InFunction(
                line_decision._Book._sum,
                "open_ = [each for each in all_ if each.status is SettlementStatus.SENT and not each.has_debit]",
                "open_ = all_",
            ),
        ),
    ),
    Safeguard(
        "days-over-when-imported",
        "A statement covers only days that were over when it was imported.",
        (InFunction(statement_days.covering, "last = min(ends_on, imported_on - _DAY)", "last = ends_on"),),
        note="not simulated: statements are of days that are over; a test holds it",
    ),
    Safeguard(
        "withdrawn-without-effects",
        "A statement that has ended settlements stays.",
        (
            InFunction(
                withdraw_statement._require_without_effects,
                "if lines := await store.count_effects_alone(tx, statement.id):",
                "if False:",
            ),
        ),
    ),
    Safeguard(
        "downloaded-when-released",
        "After a restore no file is downloaded before operators have released settlements: it may have been handed in.",
        (InFunction(gather_payout_file.download, "await release.require_may_leave(tx)", "pass"),),
    ),
    Safeguard(
        "paid-file-not-downloaded",
        "After the release no file is downloaded for the first time that the bank knows already.",
        (InFunction(gather_payout_file.download, "await _require_not_handed_in(tx, file)", "pass"),),
    ),
    Safeguard(
        "refused-when-released",
        "After a restore no transfer is noted as refused before operators have released settlements.",
        (
            InFunction(void_payout_file._require_open, "await release.require_released(tx)", "pass"),
            InFunction(
                void_payout_file._require_open, "if lost := await release.count_lost_debits(tx):", "if lost := 0:"
            ),
        ),
        note="not simulated: the bank refuses transfers by their account, in each file; a test holds it",
    ),
)
