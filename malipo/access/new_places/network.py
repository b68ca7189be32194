"""The network that an address counts as: providers give their customers another address of it every day. Pure."""

import ipaddress

_PREFIXES = {4: 24, 6: 64}


def network_of(address: str) -> str:
    """`196.41.0.0/24`; what is no address is a network of its own."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, _PREFIXES[parsed.version]), strict=False))
