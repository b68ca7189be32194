"""Whether the bank has perhaps paid a settlement: the table, written by hand."""

import pytest

from malipo.bank_evidence.perhaps_paid import Trace, is_perhaps_paid

OUT, BACK = -100_000, 100_000


def trace(cents: int, meaning: str | None = None, *, others: bool = False, voided: bool = False) -> Trace:
    """`others`: the key of another settlement is on the line, and the MsgId of a file that this one was in."""
    return Trace(not others, voided, meaning, cents, has_debit=cents < 0)


@pytest.mark.parametrize(
    ("traces", "expected", "without_booked"),
    [
        # Nothing of it is on a statement.
        ([], False, False),
        # A debit with its key that nothing was matched with.
        ([trace(OUT)], True, True),
        # The debit that has completed it, and its return.
        ([trace(OUT, "debit")], False, False),
        ([trace(OUT, "debit"), trace(BACK, "return")], False, False),
        ([trace(OUT, "sum")], False, False),
        # Paid a second time.
        ([trace(OUT, "debit"), trace(OUT)], True, True),
        # A credit alone is no debit.
        ([trace(BACK)], False, False),
        # A file that was voided with it: its sum, or any transfer of it.
        ([trace(OUT, voided=True)], True, True),
        ([trace(OUT, others=True, voided=True)], True, True),
        # A file that was not: the transfers of others say nothing of it.
        ([trace(OUT, others=True)], False, False),
        # Operators could only book it: it was paid all the same,
        ([trace(OUT, "house")], True, False),
        ([trace(OUT, "booking")], True, False),
        # unless as much came back and was booked too.
        ([trace(OUT, "house"), trace(BACK, "booking")], False, False),
        ([trace(OUT, "house"), trace(BACK - 1, "house")], True, False),
        # What was booked of others says nothing of it.
        ([trace(OUT, "house", others=True, voided=True)], False, False),
        ([trace(OUT, "house"), trace(BACK, "house", others=True, voided=True)], True, False),
        # What has come back and is not booked yet gives nothing back.
        ([trace(OUT, "house"), trace(BACK)], True, False),
    ],
)
def test_the_table(traces: list[Trace], expected: bool, without_booked: bool) -> None:
    assert is_perhaps_paid(traces) is expected
    assert is_perhaps_paid(reversed(traces)) is expected
    assert is_perhaps_paid(traces, also_booked=False) is without_booked
