"""The text of a PDF of ours, in the order in which it is drawn: its streams are inflated, and their strings read."""

import base64
import re
import zlib

_STREAM = re.compile(rb"/Filter \[ /ASCII85Decode /FlateDecode \].*?stream\r?\n(.*?)endstream", re.DOTALL)
_DRAWN = re.compile(rb"\(((?:[^()\\]|\\.)*)\) Tj|(T\*|\bET\b)", re.DOTALL)
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


def texts_of(pdf: bytes) -> list[str]:
    """Each line of each cell."""
    lines = [""]
    for stream in _found(pdf):
        for drawn in _DRAWN.finditer(zlib.decompress(base64.a85decode(stream))):
            if drawn[2]:
                lines.append("")
            else:
                lines[-1] += _plain(drawn[1])
    return [line.strip() for line in lines if line.strip()]


def _found(pdf: bytes) -> list[bytes]:
    return [each.strip().removesuffix(b"~>") for each in _STREAM.findall(pdf)]


def _plain(string: bytes) -> str:
    def letter(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8)]) if len(code) == 3 else code

    return _ESCAPED.sub(letter, string).decode("cp1252")
