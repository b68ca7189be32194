"""The network of a line after somebody has changed its number."""

from datetime import UTC, datetime

import pytest

from malipo.payments.batches.spreadsheet.columns import SheetColumn
from malipo.payments.batches.spreadsheet.draft import BatchDraft, Edits, with_fixes
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, SheetRow
from tests.payments.batches.spreadsheet.golden import TERMS

COLUMNS = {SheetColumn.PHONE: 0, SheetColumn.CHANNEL: 1, SheetColumn.AMOUNT: 2}


def draft_of(channel: str) -> BatchDraft:
    sheet = PayoutSheet(["Phone", "Network", "Amount"], [SheetRow(2, ["0714000101", channel, "1000"])], COLUMNS)
    return BatchDraft(
        id="drf_1",
        merchant_id="mer_1",
        person="asha@example.com",
        filename="salaries.csv",
        sheet=sheet,
        edits=Edits(),
        created_at=datetime(2026, 11, 19, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("in_file", "typed", "network"),
    [
        # what is typed, one saving after the other; a network "" is: by the number
        ("Tigo", [("0754000101", "TIGO_PESA")], "MPESA"),  # a wage that went to the wrong network
        ("tigo pesa", [("0754000101", "TIGO_PESA")], "MPESA"),
        ("Tigo", [("0754000101", "AIRTEL_MONEY")], "AIRTEL_MONEY"),  # chosen anew
        ("Tigo", [("0754000101", "TIGO_PESA"), ("0754000101", "TIGO_PESA")], "TIGO_PESA"),  # chosen once more
        ("Tigo", [("0655000101", "TIGO_PESA")], "TIGO_PESA"),
        ("Airtel", [("0714000199", "AIRTEL_MONEY")], "AIRTEL_MONEY"),  # ported, and stays so
        ("Tigo", [("0754", "TIGO_PESA"), ("0754000101", "TIGO_PESA")], "MPESA"),  # not whole once
        ("Tigo", [("0754000101", "TIGO_PESA"), ("0684000101", "")], "AIRTEL_MONEY"),
        ("", [("0754000101", "")], "MPESA"),
        ("", [("0714000101", "AIRTEL_MONEY"), ("0754000101", "AIRTEL_MONEY")], "MPESA"),
        ("Tigo", [("0735000101", "TIGO_PESA")], None),  # nobody's prefix: somebody must choose
    ],
)
def test_a_network_is_not_kept_for_a_number_of_another(
    in_file: str, typed: list[tuple[str, str]], network: str | None
) -> None:
    draft = draft_of(in_file)
    for phone, channel in typed:
        draft = with_fixes(draft, {2: {"phone": phone, "channel": channel, "amount": "1000"}}, [])
    [line] = draft.lines(TERMS)
    assert line.values.get("channel") == network
    assert bool(line.problems) is (network is None)


def test_a_number_that_is_changed_elsewhere_leaves_the_network() -> None:
    [line] = with_fixes(draft_of("Tigo"), {2: {"amount": "2000"}}, []).lines(TERMS)
    assert (line.values["channel"], line.chosen_channel) == ("TIGO_PESA", "TIGO_PESA")
