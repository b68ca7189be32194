"""What a spreadsheet would run is text in an export; numbers stay numbers."""

import ast
import csv
import io
from pathlib import Path

import pytest

import malipo
from malipo.table_files.csv_export import PhoneCell, csv_lines


@pytest.mark.parametrize(
    "text",
    ['=HYPERLINK("http://evil.example","Pay")', "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1"],
)
def test_a_text_that_looks_like_a_formula_gets_an_apostrophe(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_lines([[text]]), newline=""))
    assert cell == f"'{text}"


def test_a_phone_number_of_ours_has_none_and_nothing_else_passes_for_one() -> None:
    cells = ["+255754000001", "+255754000001+1", "+1", "=1", "+2557540000010"]
    assert csv_lines([[PhoneCell(each) for each in cells]]) == (
        "+255754000001,'+255754000001+1,'+1,'=1,'+2557540000010\r\n"
    )
    assert csv_lines([["+255754000001"]]) == "'+255754000001\r\n", "a text that somebody typed"


def test_numbers_and_plain_text_stay_as_they_are() -> None:
    rows: list[list[str | int]] = [[-5000, 0, 25_000, "Asha", "a=b", "'=1", "1-2", "", "MLP-0K3ABCDEFGHJ5678"]]
    assert csv_lines(rows) == "-5000,0,25000,Asha,a=b,'=1,1-2,,MLP-0K3ABCDEFGHJ5678\r\n"


def test_nothing_else_writes_csv() -> None:
    """Else an export could forget it. A payout file is read by a bank, which wants no apostrophes: its texts have no character
    that begins a function (`malipo/bank_formats/bank_text.py`)."""
    root = Path(malipo.__file__).parent
    writers = [
        file.relative_to(root).as_posix()
        for file in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("csv.writer", "csv.DictWriter")
    ]
    assert writers == ["bank_formats/payout_csv.py", "table_files/csv_export.py"]
