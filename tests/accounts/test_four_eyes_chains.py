"""One person cannot fill both approver roles through other accounts: an account that may itself have been reset by them
cannot vouch for their reset."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.accounts.four_eyes import COOLING_TIME, are_two, may_vouch
from malipo.accounts.store.credential_resets import CredentialReset

START = datetime(2026, 11, 2, tzinfo=UTC)
EVERYBODY = ("asha", "neema", "baraka", "juma", "rehema")

# Each reset: who did it, whose it is, in which hour, and in which hour somebody vouched for it. Then the hour in which
# somebody would vouch for baraka, and everybody who may.
Reset = tuple[str, str, float] | tuple[str, str, float, float]
GRID: dict[str, tuple[list[Reset], float, str]] = {
    "one reset": ([("asha", "baraka", 0)], 1, "neema juma rehema"),
    "two accounts": ([("asha", "neema", 0), ("neema", "baraka", 1)], 2, "juma rehema"),
    "three accounts": (
        [("asha", "juma", 0), ("juma", "neema", 1), ("neema", "baraka", 2)],
        3,
        "rehema",
    ),
    "four accounts": (
        [("asha", "rehema", 0), ("rehema", "juma", 1), ("juma", "neema", 2), ("neema", "baraka", 3)],
        4,
        "",
    ),
    "in the other order": ([("neema", "baraka", 0), ("asha", "neema", 1)], 2, "juma rehema"),
    "in the same moment": ([("asha", "neema", 0), ("neema", "baraka", 0)], 1, "juma rehema"),
    "the account between was vouched for afterwards": (
        [("asha", "neema", 0, 2), ("neema", "baraka", 1)],
        3,
        "juma rehema",
    ),
    "the account between was vouched for in the same moment": (
        [("asha", "neema", 0, 1), ("neema", "baraka", 1)],
        3,
        "juma rehema",
    ),
    "the account between was vouched for before": (
        [("asha", "neema", 0, 1), ("neema", "baraka", 2)],
        3,
        "asha juma rehema",
    ),
    "it was vouched for before, and reset again": (
        [("asha", "neema", 0, 1), ("asha", "neema", 2), ("neema", "baraka", 3)],
        4,
        "juma rehema",
    ),
    "it was vouched for before, and reset again afterwards": (
        [("asha", "neema", 0, 1), ("neema", "baraka", 2), ("asha", "neema", 3)],
        4,
        "juma rehema",
    ),
    "the first reset is over since, and was not then": (
        [("asha", "neema", 0), ("neema", "baraka", 71)],
        73,
        "juma rehema",
    ),
    "the first reset was over to the minute": ([("asha", "neema", 0), ("neema", "baraka", 72)], 73, "juma rehema"),
    "the first reset was over before": (
        [("asha", "neema", 0), ("neema", "baraka", 73)],
        74,
        "asha juma rehema",
    ),
    "each just within the time of the one before": (
        [("asha", "juma", 0), ("juma", "neema", 71), ("neema", "baraka", 142)],
        150,
        "rehema",
    ),
    "all between were vouched for too late": (
        [("asha", "juma", 0, 5), ("juma", "neema", 1, 6), ("neema", "baraka", 2)],
        7,
        "rehema",
    ),
    "two chains that meet in the account": (
        [("asha", "neema", 0), ("juma", "baraka", 1), ("neema", "baraka", 2)],
        3,
        "rehema",
    ),
    "two chains that meet on the way": (
        [("asha", "neema", 0), ("juma", "neema", 1), ("neema", "baraka", 2)],
        3,
        "rehema",
    ),
    "a chain that comes round": (
        [("asha", "neema", 0), ("neema", "asha", 1), ("neema", "baraka", 2)],
        3,
        "juma rehema",
    ),
    "a chain that comes round to the account": ([("asha", "baraka", 0), ("baraka", "asha", 1)], 2, "neema juma rehema"),
    "another chain, with which it has nothing in common": (
        [("asha", "baraka", 0), ("rehema", "juma", 1)],
        2,
        "neema rehema",
    ),
    "what was vouched for of the account itself is done": (
        [("asha", "baraka", 0, 1), ("neema", "baraka", 2)],
        3,
        "asha juma rehema",
    ),
}


@pytest.mark.parametrize(("resets", "hour", "vouchers"), GRID.values(), ids=GRID)
def test_the_grid(resets: list[Reset], hour: float, vouchers: str) -> None:
    history = [reset_of(number, *each) for number, each in enumerate(resets)]
    found = [each for each in history if each.vouched_at is None and each.reset_at > at(hour) - COOLING_TIME]
    may = [name for name in EVERYBODY if may_vouch(found, "baraka", name, history)]
    assert " ".join(may) == vouchers
    assert not [name for name in may if not may_vouch(found, "baraka", name)], "a page offers it to all who may"


def reset_of(number: int, by: str, account: str, hour: float, vouched: float | None = None) -> CredentialReset:
    vouched_at = None if vouched is None else at(vouched)
    return CredentialReset(f"crs_{number}", account, "password", by, at(hour), vouched_at)


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("asha", "neema", True),
        ("asha", "asha", False),
        (None, "asha", False),
        ("asha", None, False),
        (None, None, False),
    ],
)
def test_two_are_two_only_if_both_are_known_and_differ(one: str | None, other: str | None, expected: bool) -> None:
    assert are_two([], one, other) is expected
