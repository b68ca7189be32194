"""Derived network keys: the same for the same request for ever, and another one for any other."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.payments.network_keys import KEY_LENGTH, derive, key_in

SECRET = bytes(range(32))


def test_a_key_is_the_same_for_ever() -> None:
    """Written down once: whoever changes how keys are derived pays twice after the next restore."""
    assert derive(SECRET, "mer_1", "DISBURSEMENT", "order-1") == "ND61WQ9A0H20PN7H"


def test_network_keys_differ_by_merchant_route_key_and_installation() -> None:
    keys = {
        derive(SECRET, "mer_1", "DISBURSEMENT", "order-1"),
        derive(SECRET, "mer_2", "DISBURSEMENT", "order-1"),
        derive(SECRET, "mer_1", "COLLECTION", "order-1"),
        derive(SECRET, "mer_1", "DISBURSEMENT", "order-2"),
        derive(bytes(32), "mer_1", "DISBURSEMENT", "order-1"),
    }
    assert len(keys) == 5


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_a_key_has_sixteen_characters_that_can_be_read_out(parts: list[str]) -> None:
    assert re.fullmatch(f"[0-9A-HJKMNP-TV-Z]{{{KEY_LENGTH}}}", derive(SECRET, *parts))


@given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_where_one_part_ends_and_the_next_begins_makes_a_difference(a: str, b: str, c: str, d: str) -> None:
    assert ((a, b) == (c, d)) == (derive(SECRET, a, b) == derive(SECRET, c, d))


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("ND61WQ9A0H20PN7H", "ND61WQ9A0H20PN7H"),
        ("1234ND61WQ9A0H20PN7H", "ND61WQ9A0H20PN7H"),  # Tigo Pesa has the biller's code before it.
        ("MLP-ND61WQ9A0H20PN7H", "ND61WQ9A0H20PN7H"),  # as in our reference
        ("Ref ND61WQ9A0H20PN7H ", "ND61WQ9A0H20PN7H"),
        ("ND61WQ9A0H20PN7", None),  # too short
        ("nd61wq9a0h20pn7h", None),
        ("ND61WQ9A0H20PN7I", None),  # no letter of ours
        ("2510290012345678901", None),  # a number of the network's own
        ("School fees of Asha", None),
        ("", None),
    ],
)
def test_our_key_is_found_at_the_end_of_what_a_network_writes(written: str, key: str | None) -> None:
    assert key_in(written) == key
