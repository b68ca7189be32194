"""A file about a case or an exception: which kinds are taken, and how large they may be. Pure.

What it is follows from its content, and must fit the end of its name: a page that is called a picture is refused. It is
never shown, only downloaded (`dashboard/operator/casework.py`).
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from malipo.errors import Code, Conflict, Invalid

ID_PREFIX = "att_"
MOST_BYTES = 2 * 1024 * 1024
MOST_OF_ONE = 20  # files about one case or exception
_MOST_NAME = 100


class FileKind(StrEnum):
    """Stored with the file."""

    PDF = "pdf"
    PNG = "png"
    JPEG = "jpeg"
    XLSX = "xlsx"
    TEXT = "text"


ENDINGS: dict[FileKind, Sequence[str]] = {
    FileKind.PDF: ["pdf"],
    FileKind.PNG: ["png"],
    FileKind.JPEG: ["jpg", "jpeg"],
    FileKind.XLSX: ["xlsx"],
    FileKind.TEXT: ["csv", "txt"],
}
_BEGINNINGS = {
    FileKind.PDF: b"%PDF-",
    FileKind.PNG: b"\x89PNG\r\n\x1a\n",
    FileKind.JPEG: b"\xff\xd8\xff",
    FileKind.XLSX: b"PK\x03\x04",
}


class AttachmentRefusal(Code):
    KIND = "attachment_kind"
    TOO_LARGE = "attachment_too_large"
    EMPTY = "attachment_empty"
    TOO_MANY = "attachment_too_many"


class TooLarge(Invalid):
    def __init__(self) -> None:
        super().__init__(code=AttachmentRefusal.TOO_LARGE, most=MOST_BYTES // 1024 // 1024)


class TooMany(Conflict):
    def __init__(self) -> None:
        super().__init__(code=AttachmentRefusal.TOO_MANY, most=MOST_OF_ONE)


class Attachment(NamedTuple):
    id: str
    subject: str
    name: str
    kind: FileKind
    size: int
    sha256: str
    added_by: str
    added_at: datetime


def kind_of(name: str, content: bytes) -> FileKind:
    """What the file is, by its content and the end of its name."""
    if not content:
        raise Invalid(code=AttachmentRefusal.EMPTY)
    if len(content) > MOST_BYTES:
        raise TooLarge
    ending = name.rpartition(".")[2].lower()
    for kind, endings in ENDINGS.items():
        if ending in endings and _fits(kind, content):
            return kind
    raise Invalid(code=AttachmentRefusal.KIND)


def _fits(kind: FileKind, content: bytes) -> bool:
    if kind is not FileKind.TEXT:
        return content.startswith(_BEGINNINGS[kind])
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def plain_name(sent: str) -> str:
    """The name without folders, and without what a header or a page cannot have."""
    name = sent.replace("\\", "/").rpartition("/")[2]
    return "".join(each for each in name if each.isprintable() and each not in '"<>|:*?;').strip(" .")[-_MOST_NAME:]
