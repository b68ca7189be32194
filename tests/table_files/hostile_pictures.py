"""Pictures that are small as files and large, slow or something else for who reads them."""

import struct
import zlib
from io import BytesIO

from PIL import Image


def picture(
    size: tuple[int, int] = (300, 200), colour: str = "#0f6b57", kind: str = "PNG", mode: str = "RGB", **more: object
) -> bytes:
    made = BytesIO()
    Image.new("RGB", size, colour).convert(mode).save(made, kind, **more)
    return made.getvalue()


def busy_picture(size: tuple[int, int] = (600, 600)) -> bytes:
    """Every pixel has another colour: nothing compresses it."""
    made = BytesIO()
    Image.effect_noise(size, 90).convert("RGB").save(made, "JPEG", quality=95)
    return made.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, *chunks: bytes, pixels: bytes | None = None) -> bytes:
    """A PNG of grey pixels; without `pixels`, as many as it says, all black."""
    rows = zlib.compress(pixels if pixels is not None else b"\0" * (width + 1) * height, 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = b"".join((chunk(b"IHDR", head), *chunks, chunk(b"IDAT", rows), chunk(b"IEND", b"")))
    return b"\x89PNG\r\n\x1a\n" + body


def bomb() -> bytes:
    """A few hundred bytes of head for 3.6 billion pixels."""
    return png(60_000, 60_000, pixels=b"\0" * 1000)


def text_bomb() -> bytes:
    """A comment that is 20 MB when it is unpacked."""
    return png(64, 64, chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"A" * 20_000_000, 9)))


def many_frames() -> bytes:
    made = BytesIO()
    frames = [Image.new("P", (64, 64), number % 256) for number in range(200)]
    frames[0].save(made, "GIF", save_all=True, append_images=frames[1:])
    return made.getvalue()


SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><script>alert(1)</script></svg>"""
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n(/etc/passwd) run\n"
