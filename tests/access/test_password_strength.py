"""Which passwords will do, and why others will not."""

import pytest

from malipo.access.password_strength import MOST, Weakness, weakness_of

WHO = ("asha.komba@example.com", "Asha Komba")


@pytest.mark.parametrize(
    ("password", "weakness"),
    [
        ("mvua ya vuli 12", None),
        ("korosho saba mezani", None),
        ("x7#Qm-p2!Lw", None),
        ("korosho saba mezani" * 10, None),
        ("short", Weakness.LENGTH),
        ("korosho " * 26, Weakness.LENGTH),
        ("password123", Weakness.COMMON),
        ("qwertyuiop12", Weakness.COMMON),
        ("P@ssw0rd123", Weakness.COMMON),
        ("asha komba 12", Weakness.NAMES),
        ("asha.komba@example.com", Weakness.NAMES),
        ("malipo2026!", Weakness.NAMES),
        ("aaaaaaaaaaaa", Weakness.REPEATED),
        ("abcdefghijkl", Weakness.SEQUENCE),
        ("1990-05-12 12", Weakness.DATE),
    ],
)
def test_a_password_is_strong_or_weak_for_a_reason(password: str, weakness: Weakness | None) -> None:
    assert weakness_of(password, *WHO) == weakness


def test_symbols_that_can_be_read_as_letters_in_many_ways_do_not_keep_us_busy() -> None:
    """Whole, this takes minutes: then this test would be stopped."""
    assert weakness_of(("4@8({[</369&#!1/|0$5+7%2" * 9)[:MOST], *WHO) is None
