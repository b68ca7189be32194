"""Credentials as a network's portal gives them, generated at the first start and kept from then on.

Each gateway says what it needs; here it is only stored. The file holds private keys, so it is for its owner alone.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from malipo_simulator.journal import Unusable

Keys = dict[str, str]


def load(folder: Path | None, minters: Mapping[str, Callable[[], Keys]]) -> dict[str, Keys]:
    """The credentials of every gateway. Missing ones are generated, and stored if there is a folder."""
    path = folder / "credentials.json" if folder else None
    kept: dict[str, Keys] = {}
    if path and path.exists():
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=dict[str, Keys])
        except msgspec.MsgspecError:
            raise Unusable(f"{path} does not hold credentials; remove it.") from None
    missing = [name for name in minters if name not in kept]
    for name in missing:
        kept[name] = minters[name]()
    if path and missing:
        _store(path, kept)
    return kept


def _store(path: Path, kept: dict[str, Keys]) -> None:
    """In one step, so that a kill leaves the old file or the new one."""
    fresh = path.with_suffix(".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(kept)))
    fresh.replace(path)
