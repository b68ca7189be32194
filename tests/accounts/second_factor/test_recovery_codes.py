"""Recovery codes: hard to guess, easy to type."""

import re

import pytest

from malipo.accounts.second_factor import recovery_codes


def test_a_set_has_ten_codes_that_are_all_different() -> None:
    made = [each for _ in range(20) for each in recovery_codes.new_codes()]
    assert len(made) == 200 == len(set(made))
    assert all(re.fullmatch("([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}", each) for each in made)


@pytest.mark.parametrize(
    "typed",
    ["k7f1-9qm0-x2pt-4hvz", "K7F1 9QM0 X2PT 4HVZ", "k7f19qm0x2pt4hvz", " k7fl-9qmo-x2pt-4hvz ", "k7fI–9qmO–x2pt–4hvz"],
)
def test_it_may_be_typed_as_people_read_it_from_paper(typed: str) -> None:
    assert recovery_codes.hash_of("per_1", typed) == recovery_codes.hash_of("per_1", "k7f1-9qm0-x2pt-4hvz")


@pytest.mark.parametrize("typed", ["", "k7f1-9qm0-x2pt-4hv", "k7f1-9qm0-x2pt-4hvzz", "k7f1-9qm0-x2pt-4hvy"])
def test_another_code_has_another_hash(typed: str) -> None:
    assert recovery_codes.hash_of("per_1", typed) != recovery_codes.hash_of("per_1", "k7f1-9qm0-x2pt-4hvz")


def test_the_same_code_has_another_hash_in_another_account() -> None:
    assert recovery_codes.hash_of("per_1", "k7f1-9qm0-x2pt-4hvz") != recovery_codes.hash_of(
        "per_2", "k7f1-9qm0-x2pt-4hvz"
    )
