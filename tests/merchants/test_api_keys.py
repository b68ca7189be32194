import ipaddress

import pytest

from malipo.merchants.api_keys import address_range_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", "10.0.0.1/32"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("::ffff:1.2.3.4", "1.2.3.4/32"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("::/0", "::/0"),
    ],
)
def test_an_address_has_one_spelling(text: str, expected: str) -> None:
    assert address_range_of(text) == ipaddress.ip_network(expected)


@pytest.mark.parametrize("text", ["", "x", "10.0.0.1/8", "300.1.1.1", "10.0.0.0/33"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        address_range_of(text)
