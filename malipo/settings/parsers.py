"""How a setting's text is read. Each raises ValueError with the rest of a sentence: "… must be a whole number"."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from malipo.channel import Channel
from malipo.settings.secret_strength import weakness_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def text(value: str) -> str:
    return value


def path(value: str) -> Path:
    if not value:
        raise ValueError("must be a folder")
    return Path(value)


def boolean(value: str) -> bool:
    match value.lower():
        case "true" | "on" | "1":
            return True
        case "false" | "off" | "0":
            return False
    raise ValueError("must be true or false, on or off, 1 or 0")


def whole(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", value) or not least <= int(value) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(value)

    return parse


def seconds_list(value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise ValueError("must be whole seconds with commas between them, such as 30,300,1800")
    return tuple(int(part) for part in parts)


def ports(value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if not all(re.fullmatch(r"[0-9]{1,5}", part) and 1 <= int(part) <= 65535 for part in parts):
        raise ValueError("must be ports with commas between them, such as 443,8443")
    return tuple(int(part) for part in parts)


def days(value: str) -> tuple[date, ...]:
    """Sorted, and each once."""
    parts = [part.strip() for part in value.split(",") if part.strip()]
    try:
        if not all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", part) for part in parts):
            raise ValueError
        return tuple(sorted({date.fromisoformat(part) for part in parts}))
    except ValueError:
        raise ValueError("must be days with commas between them, such as 2026-10-28,2027-01-15") from None


def networks(value: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in value.split(",") if part.strip())
    except ValueError:
        raise ValueError("must be IP addresses or networks with commas between them, such as 10.0.0.0/8") from None


def channel_amounts(value: str) -> tuple[tuple[str, int], ...]:
    """An amount for each channel that is named. It may be below zero."""
    pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    channels = list(Channel)
    if not all(name in channels and re.fullmatch(r"-?[0-9]{1,15}", amount) for name, _, amount in pairs):
        raise ValueError(
            f"must be amounts of channels with commas between them, such as MPESA=5000000; the channels are "
            f"{', '.join(channels)}"
        )
    return tuple((name, int(amount)) for name, _, amount in pairs)


def matching(pattern: str, words: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {words}")
        return value

    return parse


def drawn_secret(pattern: str, words: str, *, byte_count: int) -> Callable[[str], str]:
    """A secret that the operator makes. One that can be guessed is refused, and it is said how to make another."""
    how = f"make one with openssl rand -hex {byte_count}"

    def parse(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {words}: {how}")
        if weakness := weakness_of(value):
            raise ValueError(f"{weakness}: {how}")
        return value

    return parse


def database_url(value: str) -> str:
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must begin with postgresql://")
    return value


def setting(default: Any, parse: Callable[[str], Any], *, secret: bool = False, is_shown: bool = True) -> Any:
    """A secret is never shown; neither is what may hold one by mistake."""
    is_shown = is_shown and not secret
    return field(default=default, repr=not secret, metadata={"parse": parse, "secret": secret, "is_shown": is_shown})


def base_url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", value):
        raise ValueError("must be an address such as https://openapi.example.com, without a query or a password")
    return value.rstrip("/")


def own_url(value: str) -> str:
    """The address at which others reach this service. It is no network's, so simulated networks do not restrict it to
    this machine."""
    url = base_url(value)
    if not is_safe_address(url):
        raise ValueError("must begin with https://, because people type phone numbers and passwords there")
    return url


def is_safe_address(value: str) -> bool:
    """Over TLS, or on this machine: the simulator."""
    return urlsplit(value).scheme == "https" or is_on_this_machine(value)


def is_on_this_machine(value: str) -> bool:
    host = urlsplit(value).hostname
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def one_of(*words: str) -> Callable[[str], str]:
    return matching("|".join(map(re.escape, words)), f"{', '.join(words[:-1])} or {words[-1]}")


PORT = whole(1, 65535)
AMOUNT = whole(500, 10**15)
PER_MINUTE = whole(0, 10_000_000)
