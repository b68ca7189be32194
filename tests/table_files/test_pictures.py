"""A picture from outside is drawn anew, in the process that reads files: a small PNG, with nothing else of the file."""

import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from malipo.table_files.pictures import (
    MOST_LOGO_BYTES,
    NotAPicture,
    Picture,
    PictureProblem,
    picture_in,
    read_logo,
)
from malipo.table_files.rows import rows_of
from tests.table_files import hostile_pictures
from tests.table_files.hostile_pictures import busy_picture, chunk, picture, png
from tests.table_files.test_rows import readers, written


def drawn(folder: Path, content: bytes) -> tuple[Picture, Image.Image]:
    logo = read_logo(written(folder, content))
    assert readers() == []
    opened = Image.open(BytesIO(logo.content), formats=["PNG"])
    opened.load()
    assert opened.size == (logo.width, logo.height)
    assert len(logo.content) <= MOST_LOGO_BYTES
    assert max(logo.width, logo.height) <= 192
    return logo, opened


@pytest.mark.parametrize(
    "content",
    [
        lambda: picture(),
        lambda: picture(kind="JPEG"),
        lambda: picture(kind="JPEG", mode="CMYK"),
        lambda: picture(kind="WEBP"),
        lambda: picture(kind="GIF"),
        lambda: picture(mode="P"),
        lambda: picture(mode="L"),
        lambda: picture(mode="1"),
        lambda: picture(size=(16, 4000)),
        lambda: busy_picture(),
        lambda: hostile_pictures.many_frames(),
    ],
)
def test_what_phones_and_programs_write_becomes_a_small_png(tmp_path: Path, content: Callable[[], bytes]) -> None:
    drawn(tmp_path, content())


def test_the_shape_stays_and_transparent_parts_are_white(tmp_path: Path) -> None:
    made = BytesIO()
    image = Image.new("RGBA", (400, 100), (0, 0, 0, 0))
    image.paste((15, 107, 87, 255), (0, 0, 200, 100))
    image.save(made, "PNG")
    logo, opened = drawn(tmp_path, made.getvalue())
    assert (logo.width, logo.height) == (192, 48)
    shown = opened.convert("RGB")
    assert shown.getpixel((20, 20)) == (15, 107, 87)
    assert shown.getpixel((180, 20)) == (255, 255, 255)


def test_a_photograph_is_turned_as_it_was_taken_and_loses_where(tmp_path: Path) -> None:
    image = Image.new("RGB", (400, 200), "white")
    image.paste((200, 0, 0), (0, 0, 200, 200))
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter to the right
    exif[0x010E] = "secret-place"
    made = BytesIO()
    image.save(made, "JPEG", exif=exif, quality=95)
    logo, opened = drawn(tmp_path, made.getvalue())
    assert logo.width < logo.height
    red = opened.convert("RGB").getpixel((logo.width // 2, 5))
    assert isinstance(red, tuple)
    assert red[0] > 150 > red[1]
    assert b"secret-place" not in logo.content


def test_nothing_but_pixels_is_kept(tmp_path: Path) -> None:
    behind = b"<script>alert(1)</script>"
    logo, _ = drawn(tmp_path, png(64, 64, chunk(b"tEXt", b"Comment\0secret-comment")) + behind)
    kinds, at = [], 8
    while at < len(logo.content):
        (size,) = struct.unpack(">I", logo.content[at : at + 4])
        kinds.append(logo.content[at + 4 : at + 8])
        at += size + 12
    assert set(kinds) <= {b"IHDR", b"PLTE", b"IDAT", b"IEND"}
    assert at == len(logo.content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (lambda: b"", PictureProblem.NO_PICTURE),
        (lambda: b"no picture at all", PictureProblem.NO_PICTURE),
        (lambda: hostile_pictures.SVG, PictureProblem.NO_PICTURE),
        (lambda: hostile_pictures.POSTSCRIPT, PictureProblem.NO_PICTURE),
        (lambda: picture(kind="TIFF"), PictureProblem.NO_PICTURE),
        (lambda: picture(kind="BMP"), PictureProblem.NO_PICTURE),
        (lambda: busy_picture()[:20_000], PictureProblem.NO_PICTURE),
        (lambda: png(64, 64, pixels=b"\0" * 10), PictureProblem.NO_PICTURE),
        (lambda: hostile_pictures.bomb(), PictureProblem.PIXELS),
        (lambda: png(4001, 4000, pixels=b""), PictureProblem.PIXELS),
        (lambda: picture(size=(15, 300)), PictureProblem.SMALL),
    ],
)
def test_what_is_no_picture_is_refused_with_its_reason(
    tmp_path: Path, content: Callable[[], bytes], problem: PictureProblem
) -> None:
    with pytest.raises(NotAPicture) as refused:
        read_logo(written(tmp_path, content()))
    assert refused.value.problem is problem
    assert readers() == []


def test_the_largest_picture_that_is_read_needs_no_more_memory_than_there_is(tmp_path: Path) -> None:
    drawn(tmp_path, png(4000, 4000))


def test_a_comment_that_unpacks_to_many_megabytes_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(NotAPicture):
        read_logo(written(tmp_path, hostile_pictures.text_bomb()))


def test_a_reader_of_tables_goes_on_after_one_of_pictures(tmp_path: Path) -> None:
    drawn(tmp_path, picture())
    assert list(rows_of(written(tmp_path, b"a,b\n1,2\n", "table"))) == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize(
    "answer",
    [
        {"picture": "not base64!"},
        {"picture": "PHNjcmlwdD4="},
        {"picture": "iVBORw0KGgoAAAANSUhEUgAAEAAAABAA"},  # of 4096 pixels a side
    ],
)
def test_a_reader_that_was_taken_over_can_answer_no_more_than_a_small_png(answer: dict[str, str]) -> None:
    with pytest.raises(NotAPicture):
        picture_in(answer["picture"], None)
