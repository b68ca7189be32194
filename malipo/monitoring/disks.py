"""The disks of this process: that of its data folder, where an embedded PostgreSQL is, and that of its marks."""

import os
from pathlib import Path
from typing import NamedTuple

from malipo.settings import Settings, state_folder


class Space(NamedTuple):
    free: int  # for whoever is not root
    size: int


def find_space(settings: Settings) -> dict[str, Space]:
    """Of the folders that there are. A process without them, such as an API without embedded PostgreSQL, has none."""
    folders: dict[str, Path | None] = {"data": settings.data_dir, "state": state_folder(settings)}
    return {disk: space for disk, folder in folders.items() if folder is not None and (space := _space_of(folder))}


def _space_of(folder: Path) -> Space | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return Space(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
