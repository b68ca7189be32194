"""Everything an operator can set: one frozen object, read once from `MALIPO_…` and handed down.

A name we do not know or a value we cannot read stops the start with a sentence that names it: a typing error in
a setting must never be a silent default. `docs/settings.md` is kept in step with this file by a test.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

PREFIX = "MALIPO_"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadSettings(Exception):  # noqa: N818
    """One sentence for each setting that is wrong."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


def _text(value: str) -> str:
    return value


def _path(value: str) -> Path:
    if not value:
        raise ValueError("must be a folder")
    return Path(value)


def _boolean(value: str) -> bool:
    match value.lower():
        case "true" | "on" | "1":
            return True
        case "false" | "off" | "0":
            return False
    raise ValueError("must be true or false, on or off, 1 or 0")


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", value) or not least <= int(value) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(value)

    return parse


def _seconds_list(value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise ValueError("must be whole seconds with commas between them, such as 30,300,1800")
    return tuple(int(part) for part in parts)


def _networks(value: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in value.split(",") if part.strip())
    except ValueError:
        raise ValueError("must be IP addresses or networks with commas between them, such as 10.0.0.0/8") from None


def _matching(pattern: str, words: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {words}")
        return value

    return parse


def _database_url(value: str) -> str:
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValueError("must begin with postgresql://")
    return value


def _setting(default: Any, parse: Callable[[str], Any], *, secret: bool = False) -> Any:
    return field(default=default, metadata={"parse": parse, "secret": secret})


_PORT = _whole(1, 65535)
_AMOUNT = _whole(500, 10**15)
_PER_MINUTE = _whole(0, 10_000_000)


@dataclass(frozen=True, kw_only=True)
class Settings:
    # Where it listens and where it keeps things.
    host: str = _setting("127.0.0.1", _text)
    port: int = _setting(8080, _PORT)
    data_dir: Path = _setting(Path("var"), _path)
    log_level: str = _setting("info", _matching("debug|info|warning|error", "debug, info, warning or error"))
    trusted_proxies: tuple[Network, ...] = _setting((), _networks)

    # What tokens are signed with. The same for every process of a fleet.
    secret_key: str | None = _setting(None, _matching(r"\S{32,}", "at least 32 characters without spaces"), secret=True)

    metrics_token: str | None = _setting(
        None, _matching(r"\S{16,}", "at least 16 characters without spaces"), secret=True
    )

    # PostgreSQL.
    database_url: str | None = _setting(None, _database_url, secret=True)
    database_pool: int = _setting(10, _whole(4, 1000))
    database_patience_seconds: int = _setting(10, _whole(1, 300))

    # Who acts on the command line.
    operator: str | None = _setting(None, _matching(r"[^\s]{1,100}", "an operator's name"))

    # The brand.
    reference_prefix: str = _setting("MLP", _matching("[A-Z0-9]{1,8}", "1 to 8 capital letters or digits"))
    key_prefix: str = _setting("mlp", _matching("[a-z0-9]{1,12}", "1 to 12 small letters or digits"))
    header_word: str = _setting("Service", _matching("[A-Za-z0-9]{1,20}", "1 to 20 letters or digits"))

    # Limits.
    rate_limit_create: int = _setting(100, _PER_MINUTE)
    rate_limit_list: int = _setting(300, _PER_MINUTE)
    rate_limit_other: int = _setting(200, _PER_MINUTE)
    max_amount_mpesa: int = _setting(10_000_000, _AMOUNT)
    max_amount_tigo_pesa: int = _setting(10_000_000, _AMOUNT)
    max_amount_airtel_money: int = _setting(10_000_000, _AMOUNT)
    max_amount_halopesa: int = _setting(10_000_000, _AMOUNT)

    # Networks.
    simulator_port: int = _setting(8081, _PORT)
    poll_seconds: tuple[int, ...] = _setting((15, 30, 60, 120, 300, 900, 3600), _seconds_list)

    # Webhooks.
    webhook_retry_seconds: tuple[int, ...] = _setting((30, 300, 1800, 7200, 43200), _seconds_list)
    webhook_timeout_seconds: int = _setting(10, _whole(1, 60))
    webhook_allow_private: bool = _setting(False, _boolean)


def require(settings: Settings, *names: str) -> None:
    """Refuse to start, with one sentence for each, when a setting that is needed is missing."""
    missing = [
        f"{variable(name)} is needed and not set (see docs/settings.md)."
        for name in names
        if not getattr(settings, name)
    ]
    if missing:
        raise BadSettings(missing)


def variable(name: str) -> str:
    """The environment variable of a field."""
    return PREFIX + name.upper()


def read(environment: Mapping[str, str]) -> Settings:
    """The settings that an environment asks for; BadSettings names everything wrong with it at once."""
    known = {variable(each.name): each for each in fields(Settings)}
    values: dict[str, Any] = {}
    wrong = [
        f"{name} is not a setting of malipo (see docs/settings.md)."
        for name in sorted(environment)
        if name.startswith(PREFIX) and name not in known
    ]
    for name, each in known.items():
        if name not in environment:
            continue
        try:
            values[each.name] = each.metadata["parse"](environment[name])
        except ValueError as error:
            shown = "" if each.metadata["secret"] else f"; it is {environment[name]!r}"
            wrong.append(f"{name} {error}{shown}.")
    if wrong:
        raise BadSettings(wrong)
    return Settings(**values)
