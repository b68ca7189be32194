"""Where webhooks never go, written by hand from the registries, not from the table that is tested."""

import random
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest

from malipo.webhooks.endpoint_url import problem_with
from malipo.webhooks.ssrf import why_not

# Both ends of each network, what lies in the middle, and the addresses that attackers know by heart.
FORBIDDEN = """
    this network:       0.0.0.0 0.0.0.1 0.1.2.3 0.255.255.255
    private:            10.0.0.0 10.0.0.1 10.255.255.255 172.16.0.0 172.17.0.1 172.31.255.255
    private:            192.168.0.0 192.168.1.1 192.168.255.255
    carrier-grade NAT:  100.64.0.0 100.100.100.199 100.127.255.255
    loopback:           127.0.0.0 127.0.0.1 127.0.0.2 127.0.1.1 127.1.2.3 127.255.255.255
    link-local:         169.254.0.0 169.254.1.1 169.254.169.253 169.254.255.255
    cloud metadata:     169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192
    reserved:           192.0.0.0 192.0.0.1 192.0.0.8 192.0.0.170 192.0.0.255
    documentation:      192.0.2.0 192.0.2.1 192.0.2.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255
    reserved:           192.31.196.0 192.31.196.255 192.52.193.1 192.175.48.1 192.175.48.255
    6to4:               192.88.99.0 192.88.99.1 192.88.99.255
    benchmarking:       198.18.0.0 198.18.0.1 198.19.255.255
    multicast:          224.0.0.0 224.0.0.1 239.255.255.250 239.255.255.255
    reserved:           240.0.0.0 250.1.2.3 255.255.255.254
    broadcast:          255.255.255.255
    unspecified:        ::
    loopback:           ::1
    IPv4-compatible:    ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:ffff
    IPv4-mapped:        ::ffff:0.0.0.0 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:8.8.8.8
    IPv4-translated:    ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
    reserved:           ::1:0:0:0 1:: 64:ff9a:ffff:: 64:ff9b:2:: 64:ff9b::1:0:0 100:0:0:2:: 200:: 1fff:ffff::1
    NAT64:              64:ff9b:: 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::8.8.8.8 64:ff9b:1:: 64:ff9b:1:ffff::1
    discard:            100:: 100::1 100::ffff:ffff:ffff:ffff 100:0:0:1::1
    Teredo:             2001:: 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:0:ffff:ffff:ffff:ffff:ffff:ffff
    reserved:           2001:1::1 2001:3::1 2001:4:112::1 2001:30::1 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
    benchmarking:       2001:2:: 2001:2:0:ffff::1
    ORCHID:             2001:10:: 2001:1f:ffff::1 2001:20:: 2001:2f:ffff::1
    documentation:      2001:db8:: 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 3fff:: 3fff:fff:ffff::1
    6to4:               2002:: 2002:7f00:1::1 2002:a9fe:a9fe:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff
    reserved:           2620:4f:8000::1 3ffe::1 3ffe:ffff::1 4000:: 5f00::1 5fff::1 8000::1 c000::1 e000::1 fbff::1 fe00::1
    unique local:       fc00:: fc00::1 fd00::1 fd12:3456:789a::1 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
    cloud metadata:     fd00:ec2::254 fd20:ce::254
    link-local:         fe80:: fe80::1 fe80::a9fe:a9fe febf:ffff::1 fe80::1%eth0 fe80::1%1
    link-local:         ::1%lo 2606:4700:4700::1111%eth0 2a00::1%0
    site-local:         fec0:: fec0::1 feff:ffff::1
    multicast:          ff00:: ff01::1 ff02::1 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
"""
# The last before and the first after each network, and places that people know.
ALLOWED = """
    1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 41.59.1.20 41.188.128.1 100.63.255.255 100.128.0.0 102.208.0.1
    126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
    191.255.255.255 192.0.1.0 192.0.1.255 192.0.3.0 192.31.195.255 192.31.197.0 192.88.98.255 192.88.100.0
    192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0
    196.43.0.1 197.250.0.1 223.255.255.255
    2000::1 2001:200:: 2001:db7:ffff::1 2001:db9:: 2001:4860:4860::8888 2003::1 2400:cb00::1 2606:4700:4700::1111
    2620:4f:7fff:ffff::1 2620:4f:8001:: 2a00:1450:4001::200e 2c0f:fb50::1 3ffd:ffff::1 3fff:1000::
"""
# How 127.0.0.1, 169.254.169.254 and their like are written to get past a check. The URL is refused, never repaired.
SPELLINGS = """
    127.0.0.1 127.0.0.1:443 127.0.0.1. 127.0.0.1.. 127.1 127.0.1 127.0.0.01 127.000.000.001 0127.0.0.1 00127.0.0.1
    0177.0.0.1 0177.0.0.01 0177.1 017700000001 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0X7F.0.0.1 0x7f.1 0x7f000001 0X7F000001
    0x7f.0.1 0x7f.0.0.01 127.0.0x1 127.0.0.0x1 2130706433 02130706433 2130706433. 6425673729 4294967295 4294967297 0 0. 00 0x 0x0
    0.0.0.0 1 1.2.3 1.2.3.4.5 1.2.3.256 256.256.256.256 1.2.3.-4 1.2.3.+4 a.1 a.0x1 a.09 example.com.127 foo.0x7f000001
    ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ۱۲۷.۰.۰.۱ ⅰ27.0.0.1 127.0.0.1\u200b 127.0.0.1\u00ad
    %31%32%37.0.0.1 127%2e0%2e0%2e1 127.0.0.1%00.example.com 127.0.0.1%2f.example.com %6c%6f%63alhost
    169.254.169.254 169.254.169.254. 2852039166 0xa9fea9fe 0xa9.0xfe.0xa9.0xfe 0251.0376.0251.0376 169.254.43518 425.510.425.510
    169.16689662 100.100.100.200 168.63.129.16 10.0.0.1 10.1 012.0.0.1 192.168.1.1 192.168.257 172.16.0.1 3232235777
    [::1] [::1]:443 [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [0::1] [::] [0:0::0]
    [::127.0.0.1] [::7f00:1] [::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001]
    [::ffff:a9fe:a9fe] [::ffff:169.254.169.254] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1]
    [64:FF9B::A9FE:A9FE] [64:ff9b:1::1] [2002:7f00:1::] [2002:7F00:0001::1] [2001:0:7f00:1::] [100::1]
    [fe80::1] [fe80::1%eth0] [fe80::1%25eth0] [FE80::1%25lo] [::1%25lo] [fd00:ec2::254] [FD00:EC2::254] [fd00::1] [fc00::1] [ff02::1]
    [fec0::1] [2001:db8::1] [::ffff:1.2.3.4.5] [::ffff:0x7f.0.0.1] [::ffff:0177.0.0.1] [::1].example.com [::1]] [[::1]]
    [127.0.0.1] [localhost] [v1.127] [] [:] ::1 0:0:0:0:0:0:0:1 [::1 ::1] [1::2::3] [12345::1] [::g]
    localhost LOCALHOST localhost. localhost.. Localhost:443 a.localhost localhost.localdomain printer.local db.internal
    metadata.google.internal metadata router.home.arpa home.arpa abcdef.onion intranet ip6-localhost x.LOCAL
    user@127.0.0.1 example.com@127.0.0.1 127.0.0.1@example.com example.com:x@127.0.0.1 @127.0.0.1 example.com\\@127.0.0.1
    example.com\\127.0.0.1 127.0.0.1\\.example.com 127.0.0.1\0 127.0.0.1\0.example.com
"""
BLANKS = ["127.0.0.1 ", "127.0.0.1\t", "127.0.0.1\n", "\t127.0.0.1", "127.\t0.0.1", "loc\talhost", "127.0.0.1\r\nX: y"]
PUBLIC_SPELLINGS = """
    example.com EXAMPLE.com example.com:443 www.example.co.tz a.b.c.d.example.com xn--mnchen-3ya.de my_shop.example.com
    41.59.1.20 41.59.1.20:443 1.1.1.1 [2606:4700:4700::1111] [2606:4700:4700:0:0:0:0:1111]:443 [2A00:1450:4001::200E]
    127.0.0.1.nip.io localhost.example.com local.example internal.co 0x7f000001.example.com 2130706433.example.com
    1.com 0x7g.0xg 127-0-0-1.example.com
"""


def _addresses() -> list[tuple[str, str]]:
    rows = (line.strip().partition(":  ") for line in FORBIDDEN.strip().splitlines())
    return [(address, reason) for reason, _, addresses in rows for address in addresses.split()]


def test_the_tables_are_as_long_as_they_look() -> None:
    assert len(_addresses()) > 150
    assert len(ALLOWED.split()) > 50
    assert len(SPELLINGS.split()) > 150
    assert len(PUBLIC_SPELLINGS.split()) > 20


@pytest.mark.parametrize(("address", "reason"), _addresses())
def test_a_special_address_is_refused_and_the_reason_named(address: str, reason: str) -> None:
    assert why_not(ip_address(address)) == reason


@pytest.mark.parametrize("address", ALLOWED.split())
def test_a_public_address_is_allowed(address: str) -> None:
    assert why_not(ip_address(address)) is None


@pytest.mark.parametrize("host", SPELLINGS.split() + BLANKS)
def test_no_spelling_of_a_special_address_gets_past(host: str) -> None:
    assert problem_with(f"https://{host}/webhooks", allow_private=False, ports=()) is not None


@pytest.mark.parametrize("host", PUBLIC_SPELLINGS.split())
def test_a_public_host_may_look_a_little_like_one(host: str) -> None:
    assert problem_with(f"https://{host}/webhooks", allow_private=False, ports=()) is None


def test_an_allowed_address_is_global_for_python_too() -> None:
    """The other way round it need not be. Where Python knows of a network that we do not, the table is out of date."""
    chance = random.Random(20261115)
    networks = [ip_network(text) for text in ("0.0.0.0/0", "2000::/3", "2001::/16", "2000::/4", "192.0.0.0/9", "::/0")]
    for network in networks:
        for _ in range(3000):
            address = network[chance.randrange(network.num_addresses)]
            assert why_not(address) is not None or address.is_global, address


def test_every_ipv4_network_of_the_table_ends_where_it_should() -> None:
    """The whole of IPv4 in steps of /24, by hand: so many are public, and no others."""
    public = sum(why_not(IPv4Address(number << 8 | 77)) is None for number in range(0, 1 << 24, 256))
    # 256 × 256 networks of /16, of which we look at one address (x.y.0.77) each.
    special = {"0/8": 256, "10/8": 256, "100.64/10": 64, "127/8": 256, "169.254": 1, "172.16/12": 16, "192.0": 1}
    special |= {"192.168": 1, "198.18/15": 2, "224/3": 32 * 256}
    assert public == 65536 - sum(special.values())


@pytest.mark.parametrize("first", range(16))
def test_only_an_eighth_of_ipv6_is_ever_public(first: int) -> None:
    chance = random.Random(first)
    found = {why_not(IPv6Address(first << 124 | chance.getrandbits(124))) is None for _ in range(300)}
    assert found == ({True} if first in (2, 3) else {False})
