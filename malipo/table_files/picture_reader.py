"""Draws a small picture anew from a file that came from outside. Only `reader_process.py` runs it, in a process with
limits of memory and time and without secrets.

It copies the pixels of the first frame and nothing else: no places, names, comments or profiles, and no bytes after the
picture. Transparent parts become white, so that a logo looks the same in light and dark. The result is a PNG of few
colours, which every browser shows, also that of a cheap phone.
"""

from io import BytesIO
from typing import IO, Any

from PIL import Image, ImageOps

# The formats that phones and programs write. Readers of other formats are seldom used and seldom reviewed.
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_LEAST_SIDE = 16
_ENOUGH = (768, 768)
# Tried in this order, until the file is small enough. The last one always is.
_TRIES = (
    *(((192, 96), colours) for colours in (128, 64, 32)),
    *(((144, 72), colours) for colours in (64, 32)),
    *(((96, 48), colours) for colours in (64, 32, 16, 8)),
)


class NotDrawn(Exception):  # noqa: N818 - its reason becomes a sentence in the parent.
    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def draw(file: IO[bytes], command: dict[str, Any]) -> tuple[bytes, int, int]:
    """Draw the picture. Returns the PNG, its width and its height."""
    Image.MAX_IMAGE_PIXELS = None  # The command has the limit, above which nothing is a warning.
    try:
        opened = Image.open(file, formats=_FORMATS)
    except (OSError, ValueError, SyntaxError):
        raise NotDrawn("no_picture") from None
    if opened.width * opened.height > command["pixels"]:
        raise NotDrawn("pixels")
    if min(opened.size) < _LEAST_SIDE:
        raise NotDrawn("small")
    opened.draft("RGB", _ENOUGH)  # A photograph is decoded at a size near the one that is needed.
    pixels = opened.convert("RGBA")
    pixels.thumbnail(_ENOUGH)
    turned = ImageOps.exif_transpose(pixels)
    flat = Image.new("RGBA", turned.size, "white")
    flat.alpha_composite(turned)
    picture = flat.convert("RGB")
    for size, colours in _TRIES:
        small = picture.copy()
        small.thumbnail(size, Image.Resampling.LANCZOS)  # It keeps the shape, and makes nothing larger.
        content = _png(small, colours)
        if len(content) <= command["bytes"]:
            return content, small.width, small.height
    raise NotDrawn("bytes")


def _png(picture: Image.Image, colours: int) -> bytes:
    buffer = BytesIO()
    picture.quantize(colours, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
