"""Pictures from outside, such as a logo: drawn anew in the process that reads files. The original is never stored."""

import base64
import binascii
from enum import StrEnum
from pathlib import Path

import msgspec

from malipo.table_files.readers import start_reader
from malipo.table_files.rows import CURRENT_STOP

MOST_FILE_BYTES = 2 * 1024 * 1024
MOST_LOGO_BYTES = 4096
MOST_PIXELS = 16_000_000
_MEMORY_BYTES = 256 * 1024 * 1024  # 16 million pixels of four bytes each, as they come and as they are drawn
_SECONDS = 5
_MOST_SIDE = 192
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


class PictureProblem(StrEnum):
    NO_PICTURE = "no_picture"  # none of the formats that are read, or damaged
    PIXELS = "pixels"
    SMALL = "small"
    LIMIT = "limit"  # of memory or time


class NotAPicture(Exception):  # noqa: N818 - pages make a sentence of its problem.
    def __init__(self, problem: PictureProblem) -> None:
        super().__init__(problem)
        self.problem = problem


class Picture(msgspec.Struct, frozen=True):
    """A PNG that we have drawn."""

    content: bytes
    width: int
    height: int


class _Drawn(msgspec.Struct):
    picture: str | None = None
    stopped: str | None = None


_decode = msgspec.json.Decoder(_Drawn).decode
_PROBLEMS = {each.value: each for each in PictureProblem} | {"memory": PictureProblem.LIMIT}


def read_logo(path: Path) -> Picture:
    """Draw a small PNG of the picture. Raises NotAPicture if it cannot be drawn."""
    command = {
        "is_picture": True,
        "is_workbook": False,
        "is_large": False,
        "memory_bytes": _MEMORY_BYTES,
        "seconds": _SECONDS,
        "pixels": MOST_PIXELS,
        "bytes": MOST_LOGO_BYTES,
    }
    with path.open("rb") as file:
        reader = start_reader(file, msgspec.json.encode(command))
    if (stop := CURRENT_STOP.get()) is not None:
        stop.attach(reader)
    try:
        for message in reader.messages():
            drawn = _decode(message)
            return picture_in(drawn.picture, drawn.stopped)
        raise NotAPicture(PictureProblem.LIMIT)  # A limit has ended the reader before it could say anything.
    finally:
        reader.kill()
        reader.output.close()


def picture_in(drawn: str | None, stopped: str | None) -> Picture:
    """The picture in the reader's answer, which is checked as if it came from outside, because the reader has read the
    file."""
    if drawn is None:
        raise NotAPicture(_PROBLEMS.get(stopped or "", PictureProblem.NO_PICTURE))
    try:
        content = base64.b64decode(drawn, validate=True)
    except binascii.Error:
        raise NotAPicture(PictureProblem.NO_PICTURE) from None
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    is_small = len(content) <= MOST_LOGO_BYTES and 0 < width <= _MOST_SIDE and 0 < height <= _MOST_SIDE
    if not content.startswith(_PNG_HEAD) or not is_small:
        raise NotAPicture(PictureProblem.NO_PICTURE)
    return Picture(content, width, height)
