"""The decision about each line of a bank's statement, by grids that were written by hand."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.bank.line_decision import BankLine, BookingFact, FileFact, LineCandidates, SettlementFact, decide
from malipo.bank.payout_file import FileStatus
from malipo.settlement.settlement import SettlementStatus
from tests.bank.samples import ACCOUNT, FRIDAY, KEYS, MESSAGE, MONDAY, TUESDAY, WEDNESDAY, line

NETS = (10_000, 20_000, 30_000)
UNKNOWN_KEY = "9ZZZZ6789ABCDEFG"


def settlement(number: int = 0, status: str = "SENT", **values: object) -> SettlementFact:
    usual = {
        "id": f"stl_{number}",
        "merchant_id": "mer_1",
        "key": KEYS[number],
        "net": NETS[number],
        "status": SettlementStatus(status),
        "payer_account_id": ACCOUNT.id,
        "has_debit": status == "COMPLETED",
    }
    return SettlementFact(**{**usual, **values})  # type: ignore[arg-type]


def file(status: str = "APPROVED", numbers: tuple[int, ...] = (0, 1, 2), **values: object) -> FileFact:
    usual = {
        "id": "pfl_1",
        "message_id": MESSAGE,
        "status": FileStatus(status),
        "payer_account_id": ACCOUNT.id,
        "settlement_ids": tuple(f"stl_{each}" for each in numbers),
    }
    return FileFact(**{**usual, **values})  # type: ignore[arg-type]


def decisions_of(facts: LineCandidates, *lines: BankLine) -> list[str]:
    """In words, in the order of the lines: what each is, or why it has no place."""
    found = {each.line.id: each for each in decide(lines, facts)}
    return [str(found[each.id].kind or found[each.id].meaning) for each in lines]


# A line with the settlement's key. Rows: how far the settlement is. Columns: its net amount goes out; another amount goes
# out; its net amount comes in; another amount comes in.
BY_KEY = {
    "REQUESTED": ("not_sent", "not_sent", "return_without_debit", "return_without_debit"),
    "SENT": ("debit", "other_amount", "return_without_debit", "return_without_debit"),
    "COMPLETED": ("twice", "twice", "return", "other_amount"),
    "RETURNED": ("not_sent", "not_sent", "return_without_debit", "return_without_debit"),  # the bank had refused it
    "RETURNED later": ("twice", "twice", "returned_twice", "returned_twice"),  # after the bank had booked it
    "CANCELLED": ("not_sent", "not_sent", "return_without_debit", "return_without_debit"),
}


@pytest.mark.parametrize("status", BY_KEY)
@pytest.mark.parametrize(("column", "cents"), list(enumerate((-1_000_000, -1_000_001, 1_000_000, 999_999))))
def test_a_line_with_a_key_of_ours(status: str, column: int, cents: int) -> None:
    later = status.endswith("later")
    known = settlement(
        status=status.removesuffix(" later"), **({"has_debit": True, "has_return": True} if later else {})
    )
    assert decisions_of(LineCandidates([known], [file()]), line(1, cents, key=KEYS[0])) == [BY_KEY[status][column]]


# A line without the key of a settlement that we have.
OTHERS = {
    "a key that nobody knows": (line(1, -500_000, key=UNKNOWN_KEY), "unknown_key"),
    "that comes in": (line(1, 500_000, key=UNKNOWN_KEY), "unknown_credit"),
    "a text for a key": (line(1, -500_000, key="RENT NOVEMBER"), "unknown_debit"),
    "no key": (line(1, -59_050, details="CHARGES"), "unknown_debit"),
    "money": (line(1, 700_000, reference="FT9"), "unknown_credit"),
    "a booking's reference and amount": (line(1, 77_000_000, reference="DEP1"), "booking"),
    "its reference for a key": (line(1, 77_000_000, reference="FT1", key="DEP1"), "booking"),
    "its reference with another amount": (line(1, 76_999_999, reference="DEP1"), "other_amount"),
    "its amount the other way": (line(1, -77_000_000, reference="DEP1"), "other_amount"),
    "its amount with another reference": (line(1, 77_000_000, reference="DEP2"), "unknown_credit"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_line_without_a_key_of_ours(what: str) -> None:
    facts = LineCandidates([settlement()], [file()], [BookingFact(id="bok_1", reference="DEP1", cents=77_000_000)])
    given_line, expected = OTHERS[what]
    assert decisions_of(facts, given_line) == [expected]


def test_a_booking_has_one_line() -> None:
    facts = LineCandidates(bookings=[BookingFact(id="bok_1", reference="DEP1", cents=100)])
    assert decisions_of(facts, line(1, 100, reference="DEP1"), line(2, 100, reference="DEP1")) == [
        "booking",
        "unknown_credit",
    ]


def test_two_bookings_that_fit_are_none() -> None:
    """A top-up and a transfer of the same reference and amount: nobody could say which of the two it is."""
    facts = LineCandidates(bookings=[BookingFact(id=each, reference="DEP1", cents=100) for each in ("bok_1", "hbk_1")])
    assert decisions_of(facts, line(1, 100, reference="DEP1")) == ["other_amount"]


# A sum with the MsgId of a file of three. Rows: how far its settlements are, the sum in shillings.
SUMS = {
    "all": (("SENT", "SENT", "SENT"), 60_000, "sum"),
    "one shilling less": (("SENT", "SENT", "SENT"), 59_999, "sum_differs"),
    "one too few": (("SENT", "SENT", "SENT"), 50_000, "sum_differs"),
    "one was refused": (("SENT", "RETURNED", "SENT"), 40_000, "sum"),
    "one was refused, and all are paid": (("SENT", "RETURNED", "SENT"), 60_000, "sum_differs"),
    "two were refused": (("RETURNED", "RETURNED", "SENT"), 30_000, "sum"),
    "one was paid alone": (("COMPLETED", "SENT", "SENT"), 50_000, "sum"),
    "paid again": (("COMPLETED", "COMPLETED", "COMPLETED"), 60_000, "twice"),
    "paid again, and one came back": (("COMPLETED", "COMPLETED", "RETURNED"), 60_000, "twice"),
}


@pytest.mark.parametrize("what", SUMS)
@pytest.mark.parametrize("where", ["message_id", "key"])  # MT940 has one field for both
def test_a_sum_is_that_of_the_files_open_settlements_or_nothing(what: str, where: str) -> None:
    statuses, amount, expected = SUMS[what]
    facts = LineCandidates([settlement(number, each) for number, each in enumerate(statuses)], [file()])
    assert decisions_of(facts, line(1, -100 * amount, **{where: MESSAGE})) == [expected]


def test_a_sum_of_a_file_that_was_not_approved_or_was_voided_pays_nothing() -> None:
    for status, of in (("GATHERED", "REQUESTED"), ("VOIDED", "REQUESTED")):
        facts = LineCandidates([settlement(number, of) for number in range(3)], [file(status)])
        assert decisions_of(facts, line(1, -6_000_000, message_id=MESSAGE)) == ["not_sent"]


def test_a_transfer_with_a_files_id_and_a_key_that_nobody_knows_is_not_its_sum() -> None:
    facts = LineCandidates([settlement()], [file(numbers=(0,))])
    assert decisions_of(facts, line(1, -1_000_000, key=UNKNOWN_KEY, message_id=MESSAGE)) == ["unknown_key"]


def test_a_sum_comes_back_only_by_operators() -> None:
    facts = LineCandidates([settlement(number, "COMPLETED") for number in range(3)], [file()])
    assert decisions_of(facts, line(1, 6_000_000, message_id=MESSAGE)) == ["unknown_credit"]


def test_what_is_paid_from_another_account_than_the_files_is_an_exception() -> None:
    facts = LineCandidates([settlement(), settlement(1, "COMPLETED")], [file(numbers=(0, 1))])
    other = {"payer_account_id": "pya_2"}
    lines = [
        line(1, -1_000_000, key=KEYS[0], **other),
        line(2, 2_000_000, key=KEYS[1], **other),
        line(3, -1_000_000, message_id=MESSAGE, **other),
    ]
    assert decisions_of(facts, *lines) == ["other_account"] * 3


def test_a_second_debit_with_one_key_is_an_exception() -> None:
    """The file was handed in twice, and banks refuse no repeated EndToEndId."""
    lines = [line(1, -1_000_000, key=KEYS[0]), line(2, -1_000_000, key=KEYS[0])]
    assert decisions_of(LineCandidates([settlement()], [file()]), *lines) == ["debit", "twice"]


def test_of_two_debits_nobody_can_say_which_came_back() -> None:
    """The merchant has its money, and perhaps only the second debit, ours, comes back."""
    lines = [
        line(1, -1_000_000, key=KEYS[0]),
        line(2, -1_000_000, key=KEYS[0]),
        line(3, 1_000_000, key=KEYS[0], booked_on=TUESDAY),
    ]
    assert decisions_of(LineCandidates([settlement()], [file()]), *lines) == ["debit", "twice", "which_return"]
    again = settlement(status="COMPLETED", is_paid_again=True)
    assert decisions_of(LineCandidates([again], [file()]), lines[2]) == ["which_return"]


def test_money_comes_back_once() -> None:
    lines = [
        line(1, -1_000_000, key=KEYS[0]),
        line(2, 1_000_000, key=KEYS[0], booked_on=TUESDAY),
        line(3, 1_000_000, key=KEYS[0], booked_on=WEDNESDAY),
    ]
    assert decisions_of(LineCandidates([settlement()], [file()]), *lines) == ["debit", "return", "returned_twice"]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_files_does_not_matter(seed: int) -> None:
    """Days in another order, and a day's return before its debit, as banks list what came last first."""
    lines = [
        line(9, -1_000_000, key=KEYS[0], booked_on=MONDAY),
        line(8, 1_000_000, key=KEYS[0], booked_on=MONDAY),
        line(7, -2_000_000, key=KEYS[1], booked_on=TUESDAY),
        line(6, 2_000_000, key=KEYS[1], booked_on=FRIDAY),
    ]
    facts = LineCandidates([settlement(), settlement(1)], [file(numbers=(0, 1))])
    expected = dict(zip((each.id for each in lines), decisions_of(facts, *lines), strict=True))
    assert list(expected.values()) == ["debit", "return", "debit", "return"]
    random.Random(seed).shuffle(lines)
    assert dict(zip((each.id for each in lines), decisions_of(facts, *lines), strict=True)) == expected


def test_it_changes_nothing_of_what_it_is_given() -> None:
    known = settlement()
    decide([line(1, -1_000_000, key=KEYS[0])], LineCandidates([known], [file()]))
    assert (known.status, known.has_debit) == (SettlementStatus.SENT, False)


LINES = st.builds(
    line,
    st.integers(1, 10**9),
    st.sampled_from([sign * net * 100 for sign in (1, -1) for net in (*NETS, 50_000, 60_000)]),
    key=st.sampled_from(["", MESSAGE, UNKNOWN_KEY, *KEYS]),
    message_id=st.sampled_from(["", MESSAGE]),
    booked_on=st.sampled_from([MONDAY, TUESDAY, FRIDAY]),
)


@given(
    lines=st.lists(LINES, max_size=12, unique_by=lambda each: each.id),
    statuses=st.tuples(*[st.sampled_from(["REQUESTED", "SENT", "COMPLETED", "RETURNED", "CANCELLED"])] * 3),
)
def test_whatever_the_bank_says_no_settlement_is_paid_or_returned_twice(
    lines: list[BankLine], statuses: tuple[str, str, str]
) -> None:
    facts = LineCandidates([settlement(number, each) for number, each in enumerate(statuses)], [file()])
    decided = decide(lines, facts)
    assert sorted(each.line.id for each in decided) == sorted(each.id for each in lines)
    paid = [id_ for each in decided if each.meaning in ("debit", "sum") for id_ in each.settlement_ids]
    back = [id_ for each in decided if each.meaning == "return" for id_ in each.settlement_ids]
    nets = {each.id: each.net for each in facts.settlements}
    assert len(paid) == len(set(paid))
    assert len(back) == len(set(back))
    assert {each.id for each in facts.settlements if each.id in paid} <= {
        f"stl_{number}" for number, each in enumerate(statuses) if each == "SENT"
    }
    assert set(back) <= set(paid) | {f"stl_{number}" for number, each in enumerate(statuses) if each == "COMPLETED"}
    for each in decided:
        if each.meaning != "exception":
            assert abs(each.line.cents) == 100 * sum(nets[id_] for id_ in each.settlement_ids)
