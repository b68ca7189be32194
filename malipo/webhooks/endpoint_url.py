"""Validation of endpoint URLs. Pure: what a name resolves to is checked in `http_client.py`.

The merchant's developer reads the sentence in the response to a registration. yarl parses the URL, because aiohttp
connects to the host that yarl finds. A URL that yarl would silently correct (a tab, a full-width digit) is refused
first.
"""

import re
from ipaddress import IPv4Address, IPv6Address

from yarl import URL

from malipo.webhooks.ssrf import why_not

_MOST_CHARACTERS = 2000
_MOST_OF_A_HOST = 253

_UNWANTED = re.compile(r"[^!-~]|\\")
# Scheme, host and port as written: yarl accepts a port of +443, 4_43 or nothing, and drops an empty user.
_SHAPE = re.compile(r"(?i:https?)://(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@%]+)(?::[0-9]{1,5})?(?:[/?].*)?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# Some resolvers read a name with such an ending as an address: 2130706433, 0x7f.1, 127.1 and 0177.0.0.1 are all
# 127.0.0.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HOUSE = re.compile(r"(?:.*\.)?(?:localhost|local|internal|localdomain|home\.arpa|onion)|[^.]*")


def problem_with(url: str, *, allow_private: bool, ports: tuple[int, ...]) -> str | None:
    """What to change about the URL, in a sentence; None if it can be an endpoint. Without `ports`, any port is
    allowed."""
    try:
        return _writing(url, allow_private) or _place(URL(url), allow_private, ports)
    except ValueError:
        return "url must be a URL, such as https://example.com/webhooks."


def host_of(url: URL) -> IPv4Address | IPv6Address | str:
    """The host to connect to: an address, or a name to look up. Never a number that might be an address."""
    host = url.raw_host or ""
    if ":" in host:
        return IPv6Address(host)
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return IPv4Address(host)
    return host


def _writing(url: str, allow_private: bool) -> str | None:
    if len(url) > _MOST_CHARACTERS:
        return f"url must be at most {_MOST_CHARACTERS} characters; it has {len(url)}."
    if not url.isascii():
        return "url must be ASCII: a host such as münchen.de in its xn-- form, other characters percent-encoded."
    if _UNWANTED.search(url):
        return "url must not contain spaces, control characters or backslashes."
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in (("https", "http") if allow_private else ("https",)):
        return f"url must start with https://{' or http://' if allow_private else ''}."
    if "#" in rest:
        return "url must not have a fragment (#)."
    authority = re.split("[/?]", rest, maxsplit=1)[0]
    if "@" in authority:
        return "url must not contain a user or password."
    if "%" in authority:
        return "url must not have a percent sign in its host."
    if not _SHAPE.fullmatch(url):
        return "url must name a host, and a port only as a number, such as https://example.com:8443/webhooks."
    return None


def _place(url: URL, allow_private: bool, ports: tuple[int, ...]) -> str | None:
    port = url.port
    if not port:
        return "url must not use port 0."
    if ports and port not in ports:
        return f"url must use {_either(ports)}; it uses {port}."
    try:
        host = host_of(url)
    except ValueError:
        return "url must have a host name, or an address written in full, such as 41.59.1.20."
    if isinstance(host, str):
        return _name(host, allow_private)
    reason = None if allow_private else why_not(host)
    return reason and f"url must not lead to {host}: it is {reason}, and webhooks go to public addresses only."


def _name(host: str, allow_private: bool) -> str | None:
    if len(host) > _MOST_OF_A_HOST or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        return "url must have a valid host: letters, digits and hyphens between single dots, and no dot at the end."
    if not allow_private and _HOUSE.fullmatch(host):
        return f"url must have a host that everybody can find; {host} is a name of a private network."
    return None


def _either(ports: tuple[int, ...]) -> str:
    return f"port {ports[0]}" if len(ports) == 1 else f"one of the ports {', '.join(map(str, ports))}"
