"""Any uploaded file is read or refused: quickly, in little memory, and never with another error."""

import random
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malipo.errors import Refusal
from malipo.payments.batches.spreadsheet.read_sheet import MOST_LINES, NoLines, TooManyLines, read_sheet
from malipo.payments.batches.spreadsheet.spreadsheet_line import lines_of
from malipo.table_files.rows import LimitMet, NotATable
from tests.payments.batches.spreadsheet.golden import FILES, TERMS, lines_in, write_workbook

SHEET = "xl/worksheets/sheet1.xml"
NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def read_bytes(folder: Path, content: bytes, name: str = "file.csv") -> object:
    path = folder / name
    path.write_bytes(content)
    return read_sheet(path)


def with_part(part: str, content: str) -> bytes:
    """The golden workbook with one of its parts replaced."""
    made = BytesIO()
    with zipfile.ZipFile(FILES / "salaries.xlsx") as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for each in old.namelist():
            new.writestr(each, content if each == part else old.read(each))
        if part not in old.namelist():
            new.writestr(part, content)
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"  \r\n \n",
        b"%PDF-1.7 ...",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 an old workbook",
        b"<html><table></table></html>",
        b"PK\x03\x04 not really",
        b"\x00\x01\x02\x03",
        b"phone,amount\n\x81\x8d\xff",
        b'phone,amount\n"' + b"7" * 200_000,
        "simu,kiasi".encode("utf-16"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Refusal):
        read_bytes(tmp_path, content)


def test_a_file_with_only_a_header_has_no_lines(tmp_path: Path) -> None:
    with pytest.raises(NoLines):
        read_bytes(tmp_path, b"phone,amount\n")


def test_five_thousand_lines_are_read_and_one_more_is_refused(tmp_path: Path) -> None:
    rows: list[list[str | int]] = [
        [f"Person {number}", f"07540{number:05}", 10_000 + number] for number in range(MOST_LINES)
    ]
    header: list[str | int] = ["Name", "Phone", "Amount"]
    for path in (
        write_workbook(tmp_path / "many.xlsx", [header, *rows]),
        _csv(tmp_path / "many.csv", [header, *rows]),
    ):
        _, lines = lines_in(path)
        assert len(lines) == MOST_LINES
        assert all(each.problems == () for each in lines)
        assert sum(each.amount for each in lines) == sum(int(row[2]) for row in rows)
    with pytest.raises(TooManyLines):
        read_sheet(_csv(tmp_path / "more.csv", [header, *rows, ["One more", "0754000100", 10_000]]))


def _csv(path: Path, rows: list[list[str | int]]) -> Path:
    path.write_text("\n".join(",".join(str(cell) for cell in row) for row in rows))
    return path


def test_a_workbook_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    bomb = with_part("xl/media/image1.png", "0" * (70 * 1024 * 1024))
    assert len(bomb) < 200_000
    with pytest.raises(NotATable):
        read_bytes(tmp_path, bomb, "bomb.xlsx")


def test_a_line_that_calls_itself_the_billionth_is_not_waited_for(tmp_path: Path) -> None:
    far = f'<worksheet {NAMESPACE}><sheetData><row r="99999999999"><c r="A99999999999"><v>1</v></c></row></sheetData></worksheet>'
    with pytest.raises(LimitMet) as refused:
        read_bytes(tmp_path, with_part(SHEET, far), "far.xlsx")
    assert refused.value.limit == "rows"


def test_entities_that_name_each_other_are_not_expanded(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    laughs = (
        f'<!DOCTYPE x [<!ENTITY l0 "ha">{entities}]><worksheet {NAMESPACE}><sheetData><row r="1">'
        '<c r="A1" t="inlineStr"><is><t>&l11;</t></is></c></row></sheetData></worksheet>'
    )
    with pytest.raises(NotATable):
        read_bytes(tmp_path, with_part(SHEET, laughs), "laughs.xlsx")


def test_a_file_of_the_host_cannot_be_read_through_an_entity(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    outside = (
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><worksheet {NAMESPACE}><sheetData><row r="1">'
        '<c r="A1" t="inlineStr"><is><t>&e;</t></is></c></row></sheetData></worksheet>'
    )
    try:
        sheet = read_bytes(tmp_path, with_part(SHEET, outside), "outside.xlsx")
    except Refusal:
        return
    assert "the secret" not in str(sheet)


# Each file is read by a process of its own.
HOW_OFTEN = pytest.mark.parametrize("times", [20, pytest.param(200, marks=pytest.mark.slow)])


@pytest.mark.filterwarnings("ignore::UserWarning")
@HOW_OFTEN
def test_a_damaged_workbook_is_read_or_refused(tmp_path: Path, times: int) -> None:
    whole, chance = (FILES / "salaries.xlsx").read_bytes(), random.Random(1)
    path = tmp_path / "damaged.xlsx"
    for _ in range(times):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged[: chance.choice((len(damaged), chance.randrange(len(damaged))))])
        _read_or_refused(path)


@pytest.mark.filterwarnings("ignore::UserWarning")
@HOW_OFTEN
def test_a_workbook_of_nonsense_is_read_or_refused(tmp_path: Path, times: int) -> None:
    """The parts inside are damaged, so that the checksums of the archive do not give it away."""
    chance = random.Random(2)
    with zipfile.ZipFile(FILES / "salaries.xlsx") as archive:
        parts = {each: archive.read(each).decode() for each in archive.namelist()}
    path = tmp_path / "nonsense.xlsx"
    for _ in range(times):
        part = chance.choice(list(parts))
        text = list(parts[part])
        for _ in range(chance.choice((1, 2, 10))):
            text[chance.randrange(len(text))] = chance.choice('<>/"=0 9xé&;')
        path.write_bytes(with_part(part, "".join(text)))
        _read_or_refused(path)


def _read_or_refused(path: Path) -> None:
    try:
        sheet = read_sheet(path)
    except Refusal:
        return
    lines_of(sheet, {}, TERMS)


@HOW_OFTEN
def test_any_text_is_read_or_refused(tmp_path: Path, times: int) -> None:
    path = tmp_path / "any.csv"

    @settings(max_examples=times)
    @given(st.lists(st.lists(st.text(max_size=20), max_size=6), max_size=8))
    def is_read_or_refused(rows: list[list[str]]) -> None:
        path.write_text("\n".join(",".join(row) for row in rows), errors="replace")
        _read_or_refused(path)

    is_read_or_refused()
