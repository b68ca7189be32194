"""Derived network keys: the same for the same request for ever, and another one for any other."""

import re

from hypothesis import given
from hypothesis import strategies as st

from malipo.installation.network_keys import KEY_LENGTH, derive

SECRET = bytes(range(32))


def test_a_key_is_the_same_for_ever() -> None:
    """Written down once: whoever changes how keys are derived pays twice after the next restore."""
    assert derive(SECRET, "mer_1", "DISBURSEMENT", "order-1") == "ND61WQ9A0H20PN7H"


def test_merchants_routes_keys_and_installations_are_told_apart() -> None:
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
