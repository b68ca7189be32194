"""Settlements: what is asked for leaves the wallet at once, once, and goes to an account of its merchant's own."""

from malipo.settlement import cancel, create, operator_acts, run_schedules
from malipo.settlement import settlement as rules
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.schedule import is_due
from malipo.settlement.settlement import Settlement, SettlementCause, SettlementStatus
from malipo.settlement.store import schedules, settlements
from simulation.safeguard_list.remove_safeguard import InFunction, InTable, Safeguard

_BY_KEY_FOUND = InFunction(create._find_made, "if used is None:", "if True:")
_LOST_FOUND = InFunction(
    create.CreateSettlements.__call__,
    "if answer is None and (known := lost.get(keys[request.id])) is not None:",
    "if False:",
)
_KEYS_UNIQUE = (
    "ALTER TABLE settlements DROP CONSTRAINT settlements_key_is_unique",
    "ALTER TABLE settlements DROP CONSTRAINT settlements_reference_is_unique",
    "ALTER TABLE settlements DROP CONSTRAINT settlements_idempotency_key_is_unique",
)
_FILED_NOT_CANCELLABLE = InFunction(
    Settlement.is_cancellable.fget,  # type: ignore[attr-defined]
    "return self.status is SettlementStatus.REQUESTED and not self.is_in_file",
    "return self.status in (SettlementStatus.REQUESTED, SettlementStatus.SENT)",
)
_FILED_NOT_WITHDRAWN = (
    InFunction(rules.next_status, "if cause is SettlementCause.WITHDRAWN and settlement.is_in_file:", "if False:"),
    InTable(rules.TRANSITIONS, (SettlementStatus.SENT, SettlementCause.WITHDRAWN), SettlementStatus.CANCELLED),
)
_FILED_NOT_CANCELLED = (
    "ALTER TABLE settlements DROP CONSTRAINT settlements_in_a_file_are_not_cancelled",
    "ALTER TABLE settlements DROP CONSTRAINT settlements_times",
)
_RUN_CLAIMED = (
    InFunction(schedules.find_running, "AND r.day IS DISTINCT FROM $1", "AND ($1::date IS NOT NULL)"),
    InFunction(is_due, "(last_run is None or last_run < due)", "True"),
    InFunction(schedules.claim_run, 'return done == "INSERT 0 1"', "return True"),
)

SAFEGUARDS = (
    Safeguard(
        "settlement-leaves-the-wallet",
        "The amount of a settlement is out of the wallet from the commit on that takes the request.",
        (
            InFunction(
                create.CreateSettlements._write,
                "await wallets.post(tx, {wallet.merchant_id: wallet}, [posting], now=request.made_at)",
                "del posting",
            ),
        ),
    ),
    Safeguard(
        "settlement-within-the-balance",
        "A settlement is of no more than the wallet has.",
        (
            InFunction(
                create.CreateSettlements._amount_of,
                'amount if amount <= wallet.spendable else InsufficientBalance(amount, wallet, subject="settlement")',
                "amount",
            ),
        ),
    ),
    Safeguard(
        "settlement-key-looked-up",
        "A repeated request is answered with the settlement that it has made.",
        (_BY_KEY_FOUND,),
        note="covered by adopted-settlement-looked-up: a repeat has the key of the first, and finds it by that",
    ),
    Safeguard(
        "adopted-settlement-looked-up",
        "A repeated request whose settlement was adopted after a restore is answered with that one.",
        (_LOST_FOUND,),
    ),
    Safeguard(
        "settlement-keys-unique",
        "The database keeps no two settlements with one key or one Idempotency-Key.",
        (),
        _KEYS_UNIQUE,
        note="covered by settlement-key-looked-up and adopted-settlement-looked-up, which look under the wallet's lock",
    ),
    Safeguard(
        "settlement-key-looked-up+adopted-settlement-looked-up+settlement-keys-unique",
        "All together: one wish of a merchant is one settlement.",
        (_BY_KEY_FOUND, _LOST_FOUND),
        _KEYS_UNIQUE,
    ),
    Safeguard(
        "settlement-key-derived",
        "A request that a restored database has lost gets the key that the bank has seen.",
        (InFunction(create.key_of, "if request.key is not None:", "if False:"),),
    ),
    Safeguard(
        "settlement-rows-locked",
        "A settlement is held while somebody cancels it, or takes it into a file.",
        (
            InFunction(settlements.lock, "ORDER BY s.id FOR UPDATE", "ORDER BY s.id"),
            InFunction(settlements.lock_due, "LIMIT $1 FOR UPDATE", "LIMIT $1"),
        ),
        note="hardly simulated: a cancellation must come between two statements of the treasurers; a "
        "test of both at once holds it",
    ),
    Safeguard(
        "filed-not-cancellable",
        "What is in a file to the bank cannot be cancelled.",
        (_FILED_NOT_CANCELLABLE,),
    ),
    Safeguard(
        "filed-not-cancellable+filed-not-withdrawn+filed-not-cancelled",
        "All together: what the bank may pay is not given back to the wallet.",
        (_FILED_NOT_CANCELLABLE, *_FILED_NOT_WITHDRAWN),
        _FILED_NOT_CANCELLED,
    ),
    Safeguard(
        "cancelled-when-released",
        "After a restore nothing is cancelled before operators have released settlements.",
        (InFunction(cancel.CancelSettlements._cancel, "if not await release.is_released(tx):", "if False:"),),
    ),
    Safeguard(
        "debited-not-cancelled",
        "What a line of the bank has, that waits for operators, cannot be cancelled.",
        (
            InFunction(
                cancel.CancelSettlements._cancel,
                "if await debits.find_perhaps_paid(tx, [before.at_bank], also_booked=False):",
                "if False:",
            ),
        ),
        note="hardly simulated: a merchant must ask again for another amount, so that the line cannot be "
        "adopted; a test holds it",
    ),
    Safeguard(
        "schedule-once-a-day",
        "A schedule runs once a day, however often workers look.",
        _RUN_CLAIMED,
        note="covered by schedule-key-derived: the second run has the key of the first, and finds its settlement",
    ),
    Safeguard(
        "schedule-key-derived",
        "A scheduled settlement that a restored database has lost gets the key of before when it is made up for.",
        (InFunction(create.key_of, "if day is not None:", "if False:"),),
        note="not simulated: settlements are released days after a restore, and schedules run for other "
        "days then; a test holds it",
    ),
    Safeguard(
        "schedule-when-released",
        "After a restore no schedule runs before operators have released settlements.",
        (
            InFunction(
                run_schedules._may_run,
                "return not state.takes_no_payments and await release.is_released(tx)",
                "return not state.takes_no_payments",
            ),
        ),
        note="covered by sent-when-released: what is asked for too early is in no file that is approved",
    ),
    Safeguard(
        "new-account-waits",
        "A bank account that was verified waits before anything goes there, so that its owner can stop it.",
        (InFunction(operator_acts.SettlementActs._apply, "usable_from = now + self._wait", "usable_from = now"),),
    ),
    Safeguard(
        "unverified-account-takes-nothing",
        "Nothing goes to a bank account that nobody has verified, or that waits.",
        (
            InFunction(
                BankAccount.is_usable,
                "return is_verified and self.usable_from is not None and self.usable_from <= now",
                "return True",
            ),
            InFunction(
                BankAccount.may_be_sent_to,
                "return is_verified and self.usable_from is not None and self.usable_from <= now",
                "return True",
            ),
        ),
    ),
)
