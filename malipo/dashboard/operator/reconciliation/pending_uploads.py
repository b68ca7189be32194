"""Keeps uploaded statements that are not imported yet, in the data folder, for an hour at most.

Each is kept for the operator who uploaded it, on this process's host. Another host asks the operator to upload the file
again.
"""

import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from malipo import ids
from malipo.errors import Missing
from malipo.networks.connector import Channel

_FOLDER = "uploads"
_ABOUT = "about.json"
_LIFE = timedelta(hours=1)
_MOST_KEPT = 20
_MOST_NAME = 100
_MOST_NAME_BYTES = 200  # File systems take 255.
_ID = re.compile(r"upl_[0-9a-z]{26}")


class NotKept(Missing):
    sentence = "That file is no longer here. Choose it again."

    def __init__(self) -> None:
        super().__init__(self.sentence)


class KeptFile(msgspec.Struct, frozen=True):
    """The operator who uploaded the file, and its name."""

    operator_id: str
    name: str


class FileDescription(KeptFile, frozen=True):
    """The facts that the operator gave about the statement of a network."""

    channel: Channel
    account: str = ""
    profile: str | None = None  # None: the layout that fits the columns
    begins: str = ""  # the time that it covers, as typed, if the file does not say it
    ends: str = ""


About = TypeVar("About", bound=KeptFile)


class KeptFiles(Generic[About]):
    """`about` is what is known of each file."""

    def __init__(self, data_dir: Path, about: type[About], *, folder: str = _FOLDER) -> None:
        self._folder = data_dir / folder
        self._about = about

    def begin(self, now: datetime) -> tuple[str, BinaryIO]:
        """A new one, and the file to write it to."""
        self._forget_old(now)
        id_ = ids.mint("upl_", now)
        folder = self._folder / id_
        folder.mkdir(mode=0o700, parents=True)
        return id_, (folder / "statement").open("xb")

    def keep(self, id_: str, about: About) -> None:
        folder = self._folder / id_
        (folder / "statement").rename(folder / about.name)
        (folder / _ABOUT).write_bytes(msgspec.json.encode(about))

    def change(self, id_: str, about: About) -> None:
        (self._folder / id_ / _ABOUT).write_bytes(msgspec.json.encode(about))

    def find(self, id_: str, *, operator_id: str) -> tuple[Path, About]:
        """The file, with what its uploader stated about it. Operators see only their own uploads."""
        if not _ID.fullmatch(id_):
            raise NotKept
        folder = self._folder / id_
        try:
            about = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=self._about)
        except (OSError, msgspec.MsgspecError):
            raise NotKept from None
        if about.operator_id != operator_id or not (folder / about.name).is_file():
            raise NotKept
        return folder / about.name, about

    def forget(self, id_: str) -> None:
        if _ID.fullmatch(id_):
            shutil.rmtree(self._folder / id_, ignore_errors=True)

    def _forget_old(self, now: datetime) -> None:
        """Ids begin with their time."""
        kept = sorted(each.name for each in self._folder.iterdir()) if self._folder.is_dir() else []
        oldest = ids.first_of("upl_", int((now - _LIFE).timestamp() * 1000))
        for name in kept[: max(len(kept) - _MOST_KEPT + 1, 0)] + [each for each in kept if each < oldest]:
            self.forget(name)


def safe_name(sent: str) -> str:
    """The file's own name, safe as a file name and on a page."""
    name = re.split(r"[/\\]", sent)[-1]
    name = "".join(each for each in name if each.isprintable()).strip().lstrip(".")[-_MOST_NAME:]
    while (
        len(name.encode()) > _MOST_NAME_BYTES
    ):  # A character may take four bytes. The end is kept, because it shows the file's type.
        name = name[1:]
    return name if name and name != _ABOUT else "statement.csv"
