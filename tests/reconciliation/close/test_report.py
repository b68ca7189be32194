"""A closed day on paper and in a spreadsheet: each amount where it belongs, and nothing that runs."""

import csv
import io
import re
from datetime import UTC, date, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from malipo.reconciliation.close.close_csv import COLUMNS, csv_of
from malipo.reconciliation.close.close_figures import CloseOutcome, sheet_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.plain_text import lines_of
from malipo.reconciliation.close.printed_page import html_of
from malipo.reconciliation.close.signed_content import (
    ChangeKind,
    ChannelClose,
    CloseColumn,
    DayClose,
    ItemKind,
    OpenItem,
    OpenReason,
    Sum,
    decode,
    encode,
    hash_of,
)

DAY = date(2026, 11, 15)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
ITEM = OpenItem(
    amount=700,
    reason=OpenReason.EXCEPTION,
    side="statement",
    what=ItemKind.LINE,
    name="=HYPERLINK(1)<script>",
    exception="exc_1",
    kind="theirs_only",
    merchant="mer_1",
    day=DAY,
    since=DAY,
)
CLOSE = DayClose(
    day=DAY,
    channels=(
        ChannelClose(
            channel="MPESA",
            statement=CloseColumn(opening=1000, changes={ChangeKind.IN: 5700, ChangeKind.FEES: -50}, closing=6650),
            ledger=CloseColumn(opening=1000, changes={ChangeKind.IN: 5000, ChangeKind.FEES: -50}, closing=5950),
            accounts={"": 6650},
            readings={"": 6600},
            open={OpenReason.EXCEPTION: Sum(1, 700)},
            items=(ITEM,),
        ),
        ChannelClose(
            channel="TIGO_PESA",
            statement=None,
            ledger=CloseColumn(opening=0, changes={ChangeKind.OUT: -30}, closing=-30),
            accounts={},
        ),
    ),
    balances={"fees": 10, "float MPESA": -5950, "float TIGO_PESA": 30, "network_fees": -50, "wallet": 5960},
    changes={"wallet": 4960},
    wallets=5960,
    in_flight=0,
    owed=120,
    routes={},
    late={},
)


def test_payments_in_flight_are_in_the_trial_balance() -> None:
    balances = {"float MPESA": -5950, "float TIGO_PESA": -10, "wallet": 5560, "in_flight": 400}
    assert replace(CLOSE, balances=balances, wallets=5560, in_flight=400).trial_balance == 0


def closed(close: DayClose = CLOSE) -> ClosedDay:
    content = encode(close)
    return ClosedDay(
        day=close.day,
        content=content,
        previous=None,
        hash=hash_of(None, content),
        counted="{}",
        digest=b"",
        reason="<b>portal</b>",
        requested_by=None,
        closed_by="operator asha",
        closed_at=datetime(2026, 11, 16, 6, tzinfo=UTC),
        key_id="csk_1",
        signature=b"\1",
    )


def test_a_close_is_the_same_text_however_its_parts_were_ordered() -> None:
    assert decode(encode(CLOSE)) == CLOSE
    turned = decode(encode(CLOSE))
    assert encode(turned) == encode(CLOSE)
    assert encode(CLOSE).index('"balances"') < encode(CLOSE).index('"channels"')


def test_the_csv_is_one_table_of_numbers_without_formulas() -> None:
    head, *rows = csv.reader(io.StringIO(csv_of(CLOSE)))
    assert tuple(head) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    found = {(row[1], row[2], row[4]): row[8:11] for row in rows}
    assert found["columns", "MPESA", "in"] == ["5700", "5000", "700"]
    assert found["columns", "MPESA", "closing"] == ["6650", "5950", "700"]
    assert found["columns", "TIGO_PESA", "out"] == ["", "-30", ""]
    assert found["open", "MPESA", "exception (1)"] == ["", "", "700"]
    assert found["balance", "", "trial balance"] == ["", "0", ""]
    [item] = [row for row in rows if row[1] == "open item"]
    assert item[4:8] == ["exception line theirs_only", "'=HYPERLINK(1)<script>", "", "exc_1"]
    assert item[COLUMNS.index("merchant")] == "mer_1"


def test_the_report_names_the_company_and_has_lines_to_sign() -> None:
    page = html_of(closed(), KEY, company="Duka & <b>Wana</b> Ltd")
    assert "Duka &amp; &lt;b&gt;Wana&lt;/b&gt; Ltd" in page
    assert page.count("name, signature, date") == 3
    assert "class='company'" not in html_of(closed(), KEY)


def test_the_report_has_every_amount_and_runs_nothing_from_elsewhere() -> None:
    page = html_of(closed(), KEY)
    for reported in ("5,700", "-50", "6,650", "5,950", "exc_1", "Trial balance", "operator asha", "Sunday, 2026-11-15"):
        assert reported in page
    assert (
        "What differs is explained to the shilling. Closed without a statement of TIGO_PESA: &lt;b&gt;portal&lt;/b&gt;"
        in page
    )
    assert "=HYPERLINK(1)&lt;script&gt;" in page
    headings = re.findall("<(?:th|h1|h2)[^>]*>([^<]+)<", page)
    assert {"Reading", "Statement", "Ledger", "Difference"} <= set(headings)
    assert not [each for each in headings if re.search("[a-z][A-Z]", each)], "the name of a class"
    for other in ("<script", "http", "src=", "url(", "@import", "<b>"):
        assert other not in page


def test_paper_spreadsheet_and_terminal_draw_the_figures_of_one_sheet() -> None:
    sheet = sheet_of(CLOSE)
    mpesa, tigo = sheet.channels
    assert (mpesa.outcome, tigo.outcome) == (CloseOutcome.EXPLAINED, CloseOutcome.WITHOUT_STATEMENT)
    assert (sheet.outcome, sheet.without) == (CloseOutcome.EXPLAINED, ["TIGO_PESA"])
    assert (sheet.stated, sheet.booked, sheet.difference) == (6650, 5950, 700), "of channels with a statement"
    assert (sheet.open_count, sheet.exception_count, sheet.unexplained) == (1, 1, 0)
    assert [each.name for each in mpesa.rows_with_amounts] == ["opening", "in", "fees", "closing"]
    text, page = "\n".join(lines_of(CLOSE)), html_of(closed(), KEY)
    table = [tuple(row[8:11]) for row in csv.reader(io.StringIO(csv_of(CLOSE)))]
    for row in mpesa.rows_with_amounts:
        figures = (row.statement, row.ledger, row.difference)
        assert tuple(map(str, figures)) in table
        assert all(f"{each:,}" in text and f"{each:,}" in page for each in figures)


def test_a_trial_balance_that_is_not_zero_does_not_add_up() -> None:
    assert (CLOSE.trial_balance, CLOSE.adds_up) == (0, True)
    wrong = decode(encode(CLOSE).replace('"wallets":5960', '"wallets":5961'))
    assert (wrong.trial_balance, wrong.adds_up) == (1, False)
