"""Payout files as tables, with the columns of a layout."""

import csv
import io
from datetime import date

import pytest

from malipo.bank_formats import payout_csv
from malipo.bank_formats.payout_csv import LayoutUnreadable
from tests.bank_formats.test_pain001 import order, transfer

_COLUMNS = """
[[columns]]
title = "Ref"
value = "key"
[[columns]]
title = "Amt"
value = "amount"
[[columns]]
title = "Acc"
value = "account"
"""


def rows(content: bytes, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))


def test_the_generic_layout_has_a_line_for_each_transfer() -> None:
    written = order(transfer(), transfer(key="HJKMNPQRSTVWXYZ0", amount=1_000, account="000123"))
    found = rows(payout_csv.write(written, payout_csv.decode(payout_csv.generic())))
    assert found[0] == [
        *("Debit account", "Credit account", "Bank", "Name", "Amount", "Currency", "Date", "Reference", "File"),
        "Narrative",
    ]
    assert found[2] == [
        *("22010012345", "000123", "CORUTZTZ", "Duka la Asha", "1000", "TZS", "2026-11-20", "HJKMNPQRSTVWXYZ0"),
        *("1KDMGZ0AAAAAAAAA", "Settlement ST0123456789ABCDEF"),
    ]


def test_a_layout_says_marks_dates_cents_codes_and_constants() -> None:
    layout = payout_csv.decode(
        'title = "A bank"\nheader = false\ndelimiter = ";"\ndate_format = "%d/%m/%Y"\ncents = true\n'
        + _COLUMNS
        + '[[columns]]\nvalue = "date"\n[[columns]]\nvalue = "bic"\n[[columns]]\nvalue = "constant"\nconstant = "EFT"\n'
        + '[[columns]]\nvalue = "line"\n[[columns]]\nvalue = "total"\n'
        + '[bank_codes]\nCORUTZTZ = "003"\n'
    )
    written = order(transfer(), pays_on=date(2026, 11, 3))
    assert rows(payout_csv.write(written, layout), ";") == [
        ["0123456789ABCDEF", "49500.00", "0150000WKYA00", "03/11/2026", "003", "EFT", "1", "49500.00"]
    ]


def test_no_cell_begins_a_formula() -> None:
    written = order(transfer(name="=cmd|' /C calc'!A0", text="@SUM(1+1)"))
    found = rows(payout_csv.write(written, payout_csv.decode(payout_csv.generic())))
    assert all(cell[:1] not in ("=", "+", "-", "@") for cell in found[1])


@pytest.mark.parametrize(
    "text",
    [
        "title =",
        'title = "x"\ncolumns = []',
        'title = "x"\n' + _COLUMNS.replace('"key"', '"line"'),
        'title = "x"\n' + _COLUMNS.replace('"amount"', '"lines"'),
        'title = "x"\nencoding = "klingon"\n' + _COLUMNS,
        'title = "x"\ndelimiter = "##"\n' + _COLUMNS,
        'title = "x"\nother = 1\n' + _COLUMNS,
    ],
)
def test_a_layout_by_which_nothing_could_be_paid_is_refused(text: str) -> None:
    with pytest.raises(LayoutUnreadable):
        payout_csv.decode(text)
