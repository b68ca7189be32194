"""Address and API key of the service for a developer's command: from the arguments, else from demo.json.

No database is needed for it, and no key is ever printed.
"""

import argparse
from dataclasses import dataclass, field
from typing import Any

import msgspec

from malipo.errors import Invalid
from malipo.settings import Settings
from malipo.webhooks.endpoint_url import problem_with


@dataclass(frozen=True)
class Access:
    base_url: str
    api_key: str = field(repr=False)


class _Demo(msgspec.Struct, rename="camel"):
    """The addresses and credentials that `malipo demo` keeps in its data folder."""

    base_url: str
    api_key: str
    phones_url: str


def add_arguments(command: Any) -> None:
    command.add_argument("--api-key", metavar="KEY", help="the merchant's API key (default: the demo merchant's)")
    command.add_argument(
        "--base-url", metavar="URL", help="the service's URL (default: the running demo, else http://127.0.0.1:8080)"
    )


def access(arguments: argparse.Namespace, settings: Settings) -> Access:
    demo = _demo(settings)
    key, base_url = arguments.api_key, arguments.base_url and address(arguments.base_url, "--base-url")
    if key is None:
        # The demo's key is only sent to the demo.
        if demo is None or base_url not in (None, demo.base_url):
            raise Invalid(f"--api-key is needed: {_why(demo, settings)}")
        return Access(demo.base_url, demo.api_key)
    if not key.isascii() or not key.isprintable() or " " in key or not key:
        raise Invalid("--api-key must be a key as `malipo key create` prints it.")
    if base_url is None and demo is not None and demo.api_key == key:
        base_url = demo.base_url
    return Access(base_url or f"http://127.0.0.1:{settings.port}", key)


def phones_url(arguments: argparse.Namespace, settings: Settings) -> str:
    """Where the simulated phones are."""
    if arguments.phones_url is not None:
        return address(arguments.phones_url, "--phones-url")
    demo = _demo(settings)
    if demo is None:
        raise Invalid(
            f"This is for simulated networks only, where no money is real: start `malipo demo` (there is no "
            f"{settings.data_dir / 'demo.json'}), or say with --phones-url where the simulator is."
        )
    return demo.phones_url


def address(text: str, option: str) -> str:
    """An http address as a person types it; a bare `localhost:3000/hooks` will do."""
    url = text if "://" in text else f"http://{text}"
    if problem := problem_with(url, allow_private=True, ports=()):
        raise Invalid(problem.replace("url", option, 1))
    if option == "--forward-to":
        return url
    if "?" in url:
        raise Invalid(f"{option} must not have a query (?).")
    return url.rstrip("/")


def _demo(settings: Settings) -> _Demo | None:
    try:
        return msgspec.json.decode((settings.data_dir / "demo.json").read_bytes(), type=_Demo)
    except (OSError, ValueError, RecursionError):
        return None


def _why(demo: _Demo | None, settings: Settings) -> str:
    if demo is None:
        return f"no demo has been started here (there is no {settings.data_dir / 'demo.json'})."
    return f"the key of the demo is for {demo.base_url} alone."
