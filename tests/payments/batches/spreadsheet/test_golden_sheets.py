"""Files as people have them are read as they are meant: English and Kiswahili, CSV and XLSX, with and without a header."""

import pytest

from malipo.payments.batches.spreadsheet.columns import SheetColumn
from malipo.payments.batches.spreadsheet.read_sheet import total_of
from malipo.payments.batches.spreadsheet.repaired_cells import RepairKind
from malipo.payments.batches.spreadsheet.spreadsheet_line import DIGITS_LOST, lines_of
from tests.payments.batches.spreadsheet.golden import FILES, TERMS, brief, lines_in

ASHA, BARAKA, CELINA, DAUDI = "+255754000101", "+255655000102", "+255682000103", "+255621000104"

EXPECTED = {
    "english.csv": [
        (2, ASHA, "MPESA", 450000, "Asha Juma"),
        (3, BARAKA, "TIGO_PESA", 380000, "Baraka Mushi"),
        (4, CELINA, "AIRTEL_MONEY", 512500, "Celina Mrema"),
        (5, DAUDI, "HALOPESA", 295000, "Daudi Komba"),
        (6, "+255754000105", "MPESA", 300000, "Eliza Shayo"),
    ],
    "kiswahili.csv": [
        (2, ASHA, "MPESA", 450000, "Asha Juma"),
        (3, BARAKA, "TIGO_PESA", 380000, "Baraka Mushi"),
    ],
    "no-header.csv": [
        (1, ASHA, "MPESA", 450000, "Asha Juma"),
        (2, BARAKA, "TIGO_PESA", 380000, "Baraka Mushi"),
        (3, CELINA, "AIRTEL_MONEY", 512500, "Celina Mrema"),
    ],
    "payroll.csv": [
        (5, ASHA, "MPESA", 450000, "Asha Juma"),
        (6, BARAKA, "TIGO_PESA", 380000, "Baraka Mushi"),
    ],
    "pipe.csv": [(2, ASHA, "MPESA", 25000, None), (3, BARAKA, "TIGO_PESA", 30000, None)],
    "salaries.xlsx": [
        (4, ASHA, "MPESA", 450000, "Asha Juma"),
        (5, BARAKA, "TIGO_PESA", 380000, "Baraka Mushi"),
        (6, CELINA, "AIRTEL_MONEY", 512500, "Celina Mrema"),
        (7, DAUDI, "HALOPESA", 295000, "Daudi Komba"),
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_is_read_as_it_is_meant(name: str) -> None:
    _, lines = lines_in(FILES / name)
    assert [brief(each) for each in lines] == EXPECTED[name]
    assert all(each.problems == () for each in lines)


def test_the_other_columns_are_found_too() -> None:
    _, lines = lines_in(FILES / "english.csv")
    assert lines[0].values["description"] == "Salary November"
    assert lines[0].values["orderReference"] == "E-001"


def test_of_a_gross_and_a_net_salary_the_net_one_is_paid() -> None:
    sheet, _ = lines_in(FILES / "payroll.csv")
    assert sheet.header[sheet.columns[SheetColumn.AMOUNT]] == "Net Pay"


@pytest.mark.parametrize(
    ("name", "total"),
    [("english.csv", 1_937_500), ("kiswahili.csv", 830_000), ("payroll.csv", 830_000), ("salaries.xlsx", 1_637_500)],
)
def test_a_row_of_totals_is_not_paid_and_its_sum_is_known(name: str, total: int) -> None:
    sheet, lines = lines_in(FILES / name)
    assert [total_of(each, sheet.columns) for each in sheet.totals] == [total]
    assert sum(each.amount for each in lines) == total


def test_each_repair_is_reported_with_the_text_of_the_file() -> None:
    _, lines = lines_in(FILES / "english.csv")
    repairs = [[(each.field, each.kind, each.was) for each in line.repairs] for line in lines]
    assert repairs == [
        [("phone", RepairKind.LOCAL_NUMBER, "0754 000 101")],
        [("phone", RepairKind.WITHOUT_PLUS, "255655000102")],
        [],
        [("phone", RepairKind.LOST_ZERO, "621000104")],
        [
            ("phone", RepairKind.SCIENTIFIC, "7.54000105E+08"),
            ("channel", RepairKind.NETWORK_BY_PREFIX, ""),
        ],
    ]
    assert [each.is_repaired for each in lines] == [False, False, False, True, True]


def test_every_problem_stands_on_its_line_and_field() -> None:
    _, lines = lines_in(FILES / "mistakes.csv")
    problems = {each.row: [(problem.field, problem.code) for problem in each.problems] for each in lines}
    assert problems == {
        2: [("amount", "amount_too_small")],
        3: [("phone", "phone_invalid")],
        4: [("channel", "channel_invalid")],
        5: [("phone", DIGITS_LOST)],
        6: [("channel", "field_required")],
        7: [("amount", "amount_invalid"), ("phone", "field_required")],
        8: [("amount", DIGITS_LOST)],
        9: [],
    }
    assert lines[-1].usual_channel == "TIGO_PESA", "a hint, and no problem"


def test_a_number_that_may_have_lost_digits_is_proposed_and_sent_only_when_somebody_has_saved_it() -> None:
    sheet, lines = lines_in(FILES / "mistakes.csv")
    doubtful = next(each for each in lines if each.row == 5)
    assert doubtful.typed["phone"] == "+255754000000"
    assert doubtful.problems != ()
    saved = lines_of(sheet, {5: doubtful.typed}, TERMS)[3]
    assert saved.problems == ()
    assert saved.values["recipientPhone"] == "+255754000000"


def test_mended_lines_are_right_and_the_others_stay() -> None:
    sheet, before = lines_in(FILES / "mistakes.csv")
    edits = {2: {"amount": "45,000"}, 3: {"phone": "0655 000 102"}, 4: {"channel": "AIRTEL_MONEY"}}
    after = lines_of(sheet, edits, TERMS)
    assert [each.problems for each in after[:3]] == [(), (), ()]
    assert [each.values["amount"] for each in after[:2]] == [45000, 380000]
    assert after[3:] == before[3:]
