"""Statements: a line is what its payment is, a file is one account's, and what is booked of it is booked once."""

from malipo.ledger import house_bookings
from malipo.payments.store import status_writes
from malipo.reconciliation.imports import import_statement, refuse_conflicting_file, withdraw_statement
from malipo.reconciliation.matching import carriers
from malipo.reconciliation.matching.store import candidates, summed_lines
from malipo.reconciliation.statements.store import statement_lines
from simulation.safeguard_list.remove_safeguard import InConstant, InFunction, Safeguard

SAFEGUARDS = (
    Safeguard(
        "words-do-not-count",
        "A line with the key or the receipt of a payment, and its amount, is that payment, whatever its words are.",
        (
            InConstant(candidates, "_CANDIDATES", f"AND {candidates._MAY_BE_BY_KEY}", "AND u.kind = 'money'"),
            InConstant(candidates, "_CANDIDATES", f"WHERE {candidates._MAY_BE}", "WHERE u.kind = 'money'"),
        ),
    ),
    Safeguard(
        "what-came-in-is-no-fee",
        "What came in is never booked as a charge by its words.",
        (
            InFunction(
                summed_lines.sum_lines,
                "WHERE {IS_SUMMED} AND",
                "WHERE l.kind IN ('fee', 'sweep') AND",
            ),
        ),
        note="not simulated: such lines of payments that are known are matched, and lost ones are exceptions before",
    ),
    Safeguard(
        "same-line-whatever-precision",
        "A line is the same line whether or not its time has seconds.",
        (InFunction(statement_lines._pair_staged, "enumerate(_NEARNESS, 1)", "enumerate(_NEARNESS[:1], 1)"),),
    ),
    Safeguard(
        "another-accounts-file-refused",
        "A file, or most of its lines, that is the statement of one account is refused for another.",
        (
            InFunction(
                import_statement._find_same,
                "if others := [each for each in found if each.line_count]:",
                "if False:",
            ),
            InFunction(
                refuse_conflicting_file.refuse_content_of_another,
                "only_by = FETCHED_BY if file.is_fetched else None",
                "return None",
            ),
        ),
    ),
    Safeguard(
        "unknown-file-doubted",
        "A file of which nothing is known is refused, unless operators say that the account is new.",
        (InFunction(import_statement._refuse_doubted, "if not request.is_new_account:", "if False:"),),
        note="hardly simulated: an operator must give the first file of a run to another network, in a table that "
        "the operator made; of seeds 1 to 60 only 23 draws that, and it does not notice",
    ),
    Safeguard(
        "batches-asked-first",
        "A batch from before a restore is asked about first, however late it is approved.",
        (InConstant(status_writes, "_OPEN", "CASE WHEN created.batch_id IS NOT NULL THEN", "CASE WHEN false THEN"),),
        note="covered by new-asked-first: no run lasts as long as a week after its restore",
    ),
    Safeguard(
        "aggregators-account-is-its-own",
        "What an aggregator carried is looked for in its account, and not in that of the channel's network.",
        (
            InFunction(
                carriers.carrier_by,
                "return of_layout or carrier_named(account) or own_carrier(channel)",
                "return own_carrier(channel)",
            ),
        ),
        note="hardly simulated: it matters for a payout of the aggregator that no statement has, and only a "
        "mistake of operators makes one",
    ),
    Safeguard(
        "withdrawn-bookings-reversed",
        "What a withdrawn file has booked is booked back.",
        (
            InFunction(
                withdraw_statement._apply,
                "for booking_id in await withdrawal_effects.find_bookings_to_undo(tx, file.id):",
                "for booking_id in ():",
            ),
        ),
    ),
    Safeguard(
        "cents-rounded",
        "Cents that have become more than half a shilling are booked, so that the float is that near to the account.",
        (InFunction(house_bookings._round, "in sorted(days.items()):", "in ():"),),
    ),
)
