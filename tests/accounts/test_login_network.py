"""The network that an address counts as."""

import pytest

from malipo.accounts.new_place_alerts import network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("196.41.7.200", "196.41.7.0/24"),
        ("196.41.7.0", "196.41.7.0/24"),
        ("196.41.8.200", "196.41.8.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("somewhere", "somewhere"),
    ],
)
def test_addresses_of_one_network_are_one_place(address: str, network: str) -> None:
    assert network_of(address) == network
