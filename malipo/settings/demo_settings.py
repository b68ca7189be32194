"""What the demo of a data folder runs with, so that commands beside it work on the same demo.

The demo makes its settings itself: a secret, and the credentials of simulated networks. They are kept in the data
folder, for as long as it is a demo's: `malipo serve` and `malipo api` delete them.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from malipo.settings import secret_files

FILE = "demo-settings.json"
# They bring their own settings, or those of an installation that is no demo.
_OWN_SETTINGS = {"demo", "serve", "reload", "api", "worker"}


def encode(variables: Mapping[str, str]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(variables)) + b"\n"


def delete(data_dir: Path) -> None:
    (data_dir / FILE).unlink(missing_ok=True)


def complete(environment: Mapping[str, str], command: str | None, data_dir: Path) -> dict[str, str]:
    """The environment, completed by the settings with which the demo of this data folder was started. The environment
    takes precedence."""
    if command in _OWN_SETTINGS or "MALIPO_DATABASE_URL" in environment:
        return dict(environment)
    return {
        name: value for name, value in _read(data_dir / FILE).items() if name + secret_files.SUFFIX not in environment
    } | dict(environment)


def _read(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}
