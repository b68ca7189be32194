"""The SSRF guard: which addresses a webhook may go to. Pure.

Merchants choose where we connect, so this table decides, and in doubt it refuses. `ipaddress.is_global` is not used,
because it changed between versions of Python. Names and ports are checked elsewhere.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

# The first network that contains the address gives the reason, so a part comes before its whole.
_SPECIAL = (
    # Cloud metadata servers, which give a machine's credentials to any program on it.
    ("169.254.169.254/32", "cloud metadata"),  # nearly all of them
    ("169.254.170.2/32", "cloud metadata"),  # Amazon's containers
    ("168.63.129.16/32", "cloud metadata"),  # Azure, inside public address space
    ("100.100.100.200/32", "cloud metadata"),  # Alibaba
    ("192.0.0.192/32", "cloud metadata"),  # Oracle
    ("fd00:ec2::254/128", "cloud metadata"),  # Amazon
    ("fd20:ce::254/128", "cloud metadata"),  # Google
    # IPv4
    ("0.0.0.0/8", "this network"),  # Linux connects 0.0.0.0 to itself
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "reserved"),  # AS112: anybody may answer here
    ("192.52.193.0/24", "reserved"),  # AMT relays
    ("192.88.99.0/24", "6to4"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "reserved"),  # AS112
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    # IPv6. Addresses that embed an IPv4 address are always refused: a receiver can use its IPv4 address itself.
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discard"),
    ("100:0:0:1::/64", "discard"),
    ("2001::/32", "Teredo"),
    ("2001:2::/48", "benchmarking"),
    ("2001:10::/28", "ORCHID"),
    ("2001:20::/28", "ORCHID"),
    ("2001::/23", "reserved"),  # other ranges that the IETF reserves for protocols
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "reserved"),  # AS112
    ("3fff::/20", "documentation"),
    ("3ffe::/16", "reserved"),  # 6bone, given back
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
# Only this eighth of IPv6 is allocated; the rest is reserved, even where the table does not list it.
_GIVEN_OUT = IPv6Network("2000::/3")


_TABLE = [(ip_network(network), reason) for network, reason in _SPECIAL]


def why_not(address: IPv4Address | IPv6Address) -> str | None:
    """Why webhooks are not sent to this address; None for a public one."""
    # A zone names one of our network interfaces. `ipaddress` ignores it when it compares.
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return "link-local"
    for network, reason in _TABLE:
        if address in network:
            return reason
    if isinstance(address, IPv6Address) and address not in _GIVEN_OUT:
        return "reserved"
    return None
