"""The table of operators' acts, against one that was written by hand from the issue."""

from pathlib import Path

import pytest

from malipo.accounts.reauthentication import SensitiveAct
from malipo.approvals.act_rules import ACTS, Act, Two, takes_two

A, P = SensitiveAct.APPROVAL, SensitiveAct.PASSWORD_LINK
ALONE = True

# Act, when it takes two, its confirmation, and whether the only operator may do it with --alone.
BY_HAND = {
    "resolve_open_collection": ("above", A, ALONE),
    "resolve_open_payout": ("always", A, False),
    "resolve_reported": ("always", A, False),
    "resolve_ended": ("always", A, False),
    "import": ("above", A, ALONE),
    "reject_import": ("never", A, False),
    "top_up": ("above", A, ALONE),
    "settlement": ("above", A, ALONE),
    "transfer": ("above", A, ALONE),
    "suspense_release": ("always", A, False),
    "suspense_take_back": ("always", A, False),
    "book_at_bank": ("above", A, ALONE),
    "book_equity": ("always", A, ALONE),
    "book_line": ("above", A, ALONE),
    "book_payout_line": ("always", A, False),
    "match_line": ("always", A, False),
    "adopt_line": ("always", A, False),
    "note": ("never", A, False),
    "undo": ("above", A, ALONE),
    "undo_of_two": ("always", A, False),
    "withdraw_statement": ("always", A, False),
    "withdraw_doubted": ("above", A, ALONE),
    "undo_statement_booking": ("above", A, ALONE),
    "close_day": ("never", A, False),
    "close_with_difference": ("always", A, False),
    "fence": ("never", A, False),
    "release": ("always", A, ALONE),
    "end_hold": ("never", A, False),
    "cancel_payment": ("never", A, False),
    "cancel_unreported": ("always", A, ALONE),
    "save_layout": ("never", A, False),
    "set_tariff": ("never", A, False),
    "set_charge": ("never", A, False),
    "note_reading": ("never", A, False),
    "create_merchant": ("never", A, False),
    "switch_merchant": ("never", A, False),
    "vouch": ("never", A, False),
    "verify_bank_account": ("always", A, False),
    "reject_bank_account": ("never", A, False),
    "stop_bank_account": ("never", A, False),
    "cancel_settlement": ("never", A, False),
    "collect_settlement": ("always", A, False),
    "release_settlements": ("always", A, False),
    "make_key": ("never", SensitiveAct.API_KEYS, False),
    "make_paying_key": ("always", SensitiveAct.API_KEYS, ALONE),
    "add_person": ("never", SensitiveAct.PEOPLE, False),
    "make_password_link": ("never", P, False),
    "reset_second_factor": ("never", SensitiveAct.SECOND_FACTOR, False),
    "set_operator_password": ("never", P, False),
    "give_role": ("always", SensitiveAct.PEOPLE, ALONE),
    "add_payer_account": ("always", A, False),
    "approve_payout_file": ("always", A, False),
    "void_payout_file": ("always", A, False),
    "refuse_transfers": ("always", A, False),
    "import_bank_statement": ("above", A, ALONE),
    "withdraw_bank_statement": ("always", A, False),
    "book_bank_line": ("above", A, ALONE),
    "match_bank_line": ("always", A, False),
    "adopt_settlement": ("always", A, False),
}


def test_the_table_is_the_one_written_by_hand() -> None:
    assert {act.value: (rule.two.value, rule.needs, rule.may_be_alone) for act, rule in ACTS.items()} == BY_HAND
    assert set(ACTS) == set(Act)


def test_the_documentation_has_the_same_table() -> None:
    words = {Two.NEVER: "never", Two.ABOVE: "above the amount", Two.ALWAYS: "always"}
    table = [
        f"| `{act}` | {rule.moves} | {words[rule.two]} | {'yes' if rule.may_be_alone else ''} |"
        for act, rule in ACTS.items()
    ]
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert "\n".join(table) in documented


@pytest.mark.parametrize("act", ACTS)
def test_what_takes_two_always_does_at_any_amount_and_what_never_does_at_none(act: Act) -> None:
    expected = {Two.ALWAYS: [True] * 3, Two.NEVER: [False] * 3, Two.ABOVE: [False, False, True]}[ACTS[act].two]
    found = [takes_two(act, amount, moved_alone=0, approval_amount=1_000_000) for amount in (0, 1_000_000, 1_000_001)]
    assert found == expected


@pytest.mark.parametrize(
    ("amount", "moved_alone", "approval_amount", "is_for_two"),
    [
        (1_000_000, 0, 1_000_000, False),
        (1, 1_000_000, 1_000_000, True),
        (0, 5_000_000, 1_000_000, False),  # It moves nothing.
        (1, 0, 0, True),
        (50_000, 950_000, 1_000_000, False),
        (50_000, 950_001, 1_000_000, True),
    ],
)
def test_all_that_was_moved_alone_counts_with_it(
    amount: int, moved_alone: int, approval_amount: int, is_for_two: bool
) -> None:
    assert takes_two(Act.TOP_UP, amount, moved_alone=moved_alone, approval_amount=approval_amount) is is_for_two
