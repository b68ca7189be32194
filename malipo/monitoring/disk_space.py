"""The space on the disks of this process's folders: the data folder, with the embedded PostgreSQL, and the marks."""

import os
from pathlib import Path
from typing import NamedTuple

from malipo.settings import Settings, state_folder


class Space(NamedTuple):
    free: int  # for users other than root
    size: int


def find_space(settings: Settings) -> dict[str, Space]:
    """The space of each folder that exists. A process without folders, such as an API without embedded PostgreSQL, has
    none."""
    folders: dict[str, Path | None] = {"data": settings.data_dir, "state": state_folder(settings)}
    return {disk: space for disk, folder in folders.items() if folder is not None and (space := _space_of(folder))}


def _space_of(folder: Path) -> Space | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return Space(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
