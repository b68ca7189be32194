"""Which URLs can be an endpoint, and the reason for which one is refused."""

from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from malipo.webhooks.endpoint_url import host_of, problem_with

ASCII = "url must be ASCII: a host such as münchen.de in its xn-- form, other characters percent-encoded."
BLANKS = "url must not contain spaces, control characters or backslashes."
USER = "url must not contain a user or password."
PERCENT = "url must not have a percent sign in its host."
SHAPE = "url must name a host, and a port only as a number, such as https://example.com:8443/webhooks."
NUMBER = "url must have a host name, or an address written in full, such as 41.59.1.20."
HOST = "url must have a valid host: letters, digits and hyphens between single dots, and no dot at the end."
URL_ = "url must be a URL, such as https://example.com/webhooks."

NEVER = {
    "": "url must start with https:// or http://.",
    "example.com": "url must start with https:// or http://.",
    "//example.com/": "url must start with https:// or http://.",
    "https:example.com": "url must start with https:// or http://.",
    "ftp://example.com/": "url must start with https:// or http://.",
    "file:///etc/passwd": "url must start with https:// or http://.",
    "gopher://example.com:70/_x": "url must start with https:// or http://.",
    "unix:///run/x.sock": "url must start with https:// or http://.",
    "javascript:alert(1)": "url must start with https:// or http://.",
    "https://": SHAPE,
    "https:///webhooks": SHAPE,
    "https://?x": SHAPE,
    "https://:443/": SHAPE,
    "https://example.com:/": SHAPE,
    "https://example.com:+443/": SHAPE,
    "https://example.com:4_43/": SHAPE,
    "https://example.com:-1/": SHAPE,
    "https://example.com:https/": SHAPE,
    "https://example.com:443:443/": SHAPE,
    "https://example.com:000443/": SHAPE,
    "https://::1/": SHAPE,
    "https://[::1/": SHAPE,
    "https://[v1.a]/": SHAPE,
    "https://example.com:65536/": URL_,
    "https://[127.0.0.1]/": URL_,
    "https://[1::2::3]/": NUMBER,
    "https://example.com:0/": "url must not use port 0.",
    "https://example.com/#top": "url must not have a fragment (#).",
    "https://example.com#": "url must not have a fragment (#).",
    "https://asha@example.com/": USER,
    "https://asha:secret@example.com/": USER,
    "https://@example.com/": USER,
    "https://:@example.com/": USER,
    "https://ex%61mple.com/": PERCENT,
    "https://[fe80::1%25eth0]/": PERCENT,
    "https://example.com/a b": BLANKS,
    " https://example.com/": BLANKS,
    "https://example.com/\n": BLANKS,
    "https://exam\tple.com/": BLANKS,
    "https://example.com/\0": BLANKS,
    "https://example.com/\x7f": BLANKS,
    "https://example.com\\@example.org/": BLANKS,
    "https://example.com/a\\b": BLANKS,
    "https://münchen.de/": ASCII,
    "https://example.com/é": ASCII,
    "https://example.com/\ud800": ASCII,
    "https://１.１.１.１/": ASCII,
    "https://2130706433/": NUMBER,
    "https://0x7f.1/": NUMBER,
    "https://0177.0.0.1/": NUMBER,
    "https://127.1/": NUMBER,
    "https://1.2.3.4.5/": NUMBER,
    "https://1.2.3.256/": NUMBER,
    "https://example.0x7f/": NUMBER,
    "https://127.0.0.1./": HOST,
    "https://example.com./": HOST,
    "https://example..com/": HOST,
    "https://.example.com/": HOST,
    "https://-example.com/": HOST,
    "https://*.example.com/": HOST,
    "https://exam!ple.com/": HOST,
    "https://" + "a" * 64 + ".com/": HOST,
    "https://" + "a.b" * 90 + ".com/": HOST,
    "https://example.com/" + "x" * 1981: "url must be at most 2000 characters; it has 2001.",
}


@pytest.mark.parametrize("url", NEVER)
def test_some_urls_are_wrong_wherever_malipo_runs(url: str) -> None:
    assert problem_with(url, allow_private=True, ports=()) == NEVER[url]
    delivered = problem_with(url, allow_private=False, ports=())
    assert delivered == NEVER[url].replace(" or http://", "")


HOUSE = [
    *["localhost", "a.localhost", "printer.local", "db.internal", "localhost.localdomain", "router.home.arpa"],
    *["home.arpa", "x.onion", "intranet", "METADATA", "Metadata.Google.Internal"],
]


@pytest.mark.parametrize("host", HOUSE)
def test_a_name_of_a_private_network_is_for_local_work(host: str) -> None:
    sentence = f"url must have a host that everybody can find; {host.lower()} is a name of a private network."
    assert problem_with(f"https://{host}/", allow_private=False, ports=()) == sentence
    assert problem_with(f"https://{host}/", allow_private=True, ports=()) is None


@pytest.mark.parametrize(
    ("host", "shown", "reason"),
    [
        ("10.0.0.1", "10.0.0.1", "private"),
        ("169.254.169.254", "169.254.169.254", "cloud metadata"),
        ("[::1]", "::1", "loopback"),
        ("[0:0:0:0:0:FFFF:127.0.0.1]", "::ffff:7f00:1", "IPv4-mapped"),
    ],
)
def test_a_private_address_is_for_local_work(host: str, shown: str, reason: str) -> None:
    sentence = f"url must not lead to {shown}: it is {reason}, and webhooks go to public addresses only."
    assert problem_with(f"https://{host}:8443/", allow_private=False, ports=()) == sentence
    assert problem_with(f"https://{host}:8443/", allow_private=True, ports=()) is None


PRIVATE = [
    *["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0", "0.0.0.0"],  # noqa: S104
    *["localhost", "LOCALHOST", "shop.localhost"],
    *["10.0.0.7", "172.16.0.1:8443", "192.168.1.1", "100.64.0.1", "169.254.169.254", "metadata.google.internal"],
    *["printer.local", "intranet", "224.0.0.1", "255.255.255.255", "192.0.2.1", "[::1]", "[::]", "[::ffff:127.0.0.1]"],
    *["[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
]


@pytest.mark.parametrize("host", PRIVATE)
def test_no_spelling_of_a_private_place_is_let_through(host: str) -> None:
    assert problem_with(f"https://{host}/latest/meta-data/", allow_private=False, ports=()) is not None


def test_without_tls_is_for_local_work() -> None:
    assert problem_with("http://example.com/", allow_private=False, ports=()) == "url must start with https://."
    assert problem_with("http://example.com/", allow_private=True, ports=()) is None


@pytest.mark.parametrize(
    ("url", "ports", "sentence"),
    [
        ("https://example.com/", (443,), None),
        ("https://example.com:8443/", (443, 8443), None),
        ("https://example.com:8443/", (), None),
        ("https://example.com:8443/", (443,), "url must use port 443; it uses 8443."),
        ("https://example.com:22/", (443, 8443), "url must use one of the ports 443, 8443; it uses 22."),
        ("https://[2606:4700::1]:25/", (443,), "url must use port 443; it uses 25."),
        ("https://example.com/", (8443,), "url must use port 8443; it uses 443."),
        ("https://example.com:0/", (0, 443), "url must not use port 0."),
    ],
)
def test_the_operator_says_which_ports(url: str, ports: tuple[int, ...], sentence: str | None) -> None:
    assert problem_with(url, allow_private=False, ports=ports) == sentence
    assert problem_with(url, allow_private=True, ports=ports) == sentence


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/webhooks?shop=1&x=%20",
        "HTTPS://Example.COM:443/a/../b;c=d,e",
        "https://example.com?a=b@c",
        "https://example.com/a@b:c",
        "https://example.com/%e9%00",
        "https://xn--mnchen-3ya.de/",
        "https://my_shop.example.com/",
        "https://" + "a" * 63 + ".com/",
        "https://example.com/" + "x" * 1980,
    ],
)
def test_an_ordinary_url_is_fine(url: str) -> None:
    assert problem_with(url, allow_private=False, ports=(443,)) is None


ODD = "htps:/@[]%.#?\\0123456789abcdefx-_~ \t\r\n\0é１。"
TEXTS = st.text(max_size=60) | st.text(alphabet=ODD, max_size=60)
HOSTS = st.text(alphabet="abx019.:[]%@-", min_size=1, max_size=12) | st.just("example.com") | st.just("[2606:4700::1]")
PORTS = st.just("") | st.integers(0, 70000).map(lambda port: f":{port}")


@given(TEXTS, st.booleans())
def test_no_text_breaks_it(text: str, local: bool) -> None:
    for url in (text, f"https://{text}", f"https://a.com:{text}", f"https://[{text}"):
        problem = problem_with(url, allow_private=local, ports=())
        assert problem is None or (problem.startswith("url must ") and problem.endswith("."))


@given(HOSTS, PORTS, st.text(alphabet=ODD, max_size=9))
def test_an_accepted_url_is_parsed_alike_by_another_parser(host: str, port: str, rest: str) -> None:
    url = f"https://{host}{port}{rest}"
    if problem_with(url, allow_private=True, ports=()) is None:
        ours, theirs = URL(url), urlsplit(url)
        assert theirs.hostname is not None
        assert str(host_of(ours)) in (theirs.hostname, str(_address(theirs.hostname)))
        assert ours.port == (theirs.port or 443)
        assert (theirs.username, theirs.password, theirs.fragment) == (None, None, "")


def _address(host: str) -> object:
    return ip_address(host) if ":" in host else None
