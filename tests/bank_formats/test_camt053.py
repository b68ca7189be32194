"""Statements as camt.053: what we see in them, and that a public library sees the same."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pyiso20022.camt.camt_053_001_08 import Document  # type: ignore[import-untyped]
from xsdata.formats.dataclass.parsers import XmlParser

from malipo.bank_formats.bank_entry import EntryProblem, StatementProblem, joined, problems_of
from malipo.table_files.rows import NotATable
from tests.bank_formats.samples import CAMT, CAMT_02
from tests.bank_formats.statement_file import camt_of

DAY = date(2026, 11, 19)
SEEN = [
    # row, cents, bank's reference, key, message id, reason, is a reversal, is a part
    (1, -4_950_000, "FT26323AAAA", "0123456789ABCDEF", "1KDMGZ0AAAAAAAAA", "", False, False),
    (2, -8_000_000, "FT26323BBBB", "1123456789ABCDEF", "", "", False, True),
    (2, -150_000, "FT26323BBBB", "2123456789ABCDEF", "", "", False, True),
    (3, -900_000, "FT26323CCCC", "", "3KDMGZ0AAAAAAAAA", "", False, False),
    (4, 900_000, "FT26323DDDD", "3123456789ABCDEF", "", "AC04 ACCOUNT CLOSED", True, False),
    (5, -77_050, "CHG1", "", "", "", False, False),
]


@pytest.mark.parametrize(
    "text",
    [
        CAMT,
        CAMT_02,
        CAMT.encode("utf-16"),
        CAMT.replace("Document", "ns:Document")
        .replace('xmlns="', 'xmlns:ns="')
        .replace("<ns:Document", '<ns:Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"'),
    ],
)
def test_what_a_statement_says(tmp_path: Path, text: str | bytes) -> None:
    if isinstance(text, bytes):
        text = text.replace("UTF-8".encode("utf-16-le"), "UTF-16".encode("utf-16-le"))
    [statement] = camt_of(tmp_path, text)
    assert (statement.account, statement.id) == ("22010012345", "2026-323")
    assert (statement.opening, statement.closing) == (100_000_000, 86_822_950)
    assert (statement.begins_on, statement.ends_on) == (DAY, DAY)
    found = [
        (e.row, e.cents, e.reference, e.key, e.message_id, e.reason, e.is_reversal, e.is_part)
        for e in statement.entries
    ]
    assert found == SEEN
    assert statement.entries[0].details == "Settlement ST1 Duka la Asha"
    assert (statement.pending, statement.unreadable, problems_of(statement)) == (1, (), [])


def test_what_a_bank_repeats_is_read_once(tmp_path: Path) -> None:
    repeated = "</TxDtls></NtryDtls><AddtlNtryInf>Settlement ST1\nDuka la Asha</AddtlNtryInf></Ntry>"
    [statement] = camt_of(tmp_path, CAMT.replace("</TxDtls></NtryDtls></Ntry>", repeated, 1))
    assert statement.entries[0].details == "Settlement ST1 Duka la Asha"


def test_another_library_reads_the_same_entries(tmp_path: Path) -> None:
    [statement] = camt_of(tmp_path, CAMT)
    [theirs] = XmlParser().from_bytes(CAMT.encode(), Document).bk_to_cstmr_stmt.stmt
    assert statement.account == theirs.acct.id.othr.id
    balances = {each.tp.cd_or_prtry.cd: each.amt.value for each in theirs.bal}
    assert (Decimal(statement.opening or 0) / 100, Decimal(statement.closing or 0) / 100) == (
        balances["OPBD"],
        balances["CLBD"],
    )
    entries = [each for each in theirs.ntry if each.sts.cd == "BOOK"]
    ours: dict[int, int] = {}
    for each in statement.entries:
        ours[each.row] = ours.get(each.row, 0) + each.cents
    signs = {"CRDT": 1, "DBIT": -1}
    assert [Decimal(cents) / 100 for cents in ours.values()] == [
        each.amt.value * signs[each.cdt_dbt_ind.value] for each in entries
    ]
    their_keys = [
        tx.refs.end_to_end_id for each in entries for details in each.ntry_dtls for tx in details.tx_dtls if tx.refs
    ]
    assert [each.key for each in statement.entries if each.key] == their_keys


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('<Amt Ccy="TZS">49500</Amt>', '<Amt Ccy="USD">49500</Amt>', EntryProblem.CURRENCY),
        ('<Amt Ccy="TZS">49500</Amt>', '<Amt Ccy="TZS">-49500</Amt>', EntryProblem.AMOUNT),
        ('<Amt Ccy="TZS">49500</Amt>', '<Amt Ccy="TZS">495.001</Amt>', EntryProblem.AMOUNT),
        ('<Amt Ccy="TZS">49500</Amt>', "", EntryProblem.AMOUNT),
        ("49500</Amt><CdtDbtInd>DBIT</CdtDbtInd>", "49500</Amt><CdtDbtInd>OUT</CdtDbtInd>", EntryProblem.SIGN),
        ("<BookgDt><Dt>2026-11-19</Dt></BookgDt><ValDt><Dt>2026-11-19</Dt></ValDt>", "", EntryProblem.DAY),
        (
            "<BookgDt><Dt>2026-11-19</Dt></BookgDt><ValDt>",
            "<BookgDt><Dt>2026-02-30</Dt></BookgDt><ValDt>",
            EntryProblem.DAY,
        ),
        ('<Amt Ccy="TZS">1500</Amt>', '<Amt Ccy="TZS">1501</Amt>', EntryProblem.PARTS),
    ],
)
def test_an_entry_that_cannot_be_read_is_reported(
    tmp_path: Path, before: str, after: str, problem: EntryProblem
) -> None:
    assert before in CAMT
    [statement] = camt_of(tmp_path, CAMT.replace(before, after, 1))
    assert [each.why.code for each in statement.unreadable] == [problem]


def test_amounts_of_parts_that_are_not_said_make_the_sum_one_entry(tmp_path: Path) -> None:
    [statement] = camt_of(tmp_path, CAMT.replace('<Amt Ccy="TZS">1500</Amt><CdtDbtInd>DBIT</CdtDbtInd>', ""))
    found = [(each.cents, each.message_id, each.is_part) for each in statement.entries if each.row == 2]
    assert found == [(-8_150_000, "2KDMGZ0AAAAAAAAA", False)]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("868229.50", "868229.51", StatementProblem.SUM),
        ("<Cd>OPBD</Cd>", "<Cd>OPAV</Cd>", StatementProblem.NO_OPENING),
        ("<Cd>CLBD</Cd>", "<Cd>ITBD</Cd>", StatementProblem.NO_CLOSING),
        ("<FrDtTm>2026-11-19", "<FrDtTm>2026-11-20", StatementProblem.OUTSIDE),
    ],
)
def test_a_statement_that_does_not_add_up_is_told(
    tmp_path: Path, before: str, after: str, problem: StatementProblem
) -> None:
    text = CAMT.replace(before, after, 1)
    if problem is StatementProblem.OUTSIDE:
        text = text.replace("<ToDtTm>2026-11-19", "<ToDtTm>2026-11-21")
    [statement] = camt_of(tmp_path, text)
    assert [each.code for each in problems_of(statement)] == [problem]


def test_days_of_balances_alone_cover_only_what_is_sure(tmp_path: Path) -> None:
    without = CAMT.replace(CAMT[CAMT.index("<FrToDt>") : CAMT.index("</FrToDt>") + 9], "")
    [of_a_day] = camt_of(tmp_path, without)
    assert (of_a_day.begins_on, of_a_day.ends_on) == (DAY, DAY)
    [since] = camt_of(tmp_path, without.replace("<Dt><Dt>2026-11-19</Dt></Dt>", "<Dt><Dt>2026-11-18</Dt></Dt>", 1))
    assert (since.begins_on, since.ends_on) == (DAY, DAY)
    [previous] = camt_of(
        tmp_path,
        without.replace("OPBD", "PRCD").replace("<Dt><Dt>2026-11-19</Dt></Dt>", "<Dt><Dt>2026-11-15</Dt></Dt>", 1),
    )
    assert (previous.begins_on, previous.ends_on) == (date(2026, 11, 16), DAY)


def test_several_statements_in_one_file_are_one_if_each_continues_the_one_before(tmp_path: Path) -> None:
    stmt = CAMT[CAMT.index("<Stmt>") : CAMT.index("</Stmt>") + 7]
    empty = stmt[: stmt.index("<Ntry>")] + "</Stmt>"
    later = empty.replace("2026-11-19", "2026-11-20").replace("1000000.00", "868229.50")
    both = camt_of(tmp_path, CAMT.replace("</Stmt>", f"</Stmt>{later}"))
    whole = joined(both)
    assert (whole.begins_on, whole.ends_on, whole.closing) == (DAY, date(2026, 11, 20), 86_822_950)
    assert problems_of(whole) == []
    apart = joined(camt_of(tmp_path, CAMT.replace("</Stmt>", f"</Stmt>{later.replace('868229.50', '868229.00')}")))
    assert [each.code for each in problems_of(apart)][:1] == [StatementProblem.NOT_CONTINUED]
    # In the other order: their days tell.
    turned = joined(list(reversed(both)))
    assert (turned.opening, turned.closing, problems_of(turned)) == (100_000_000, 86_822_950, [])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(tmp_path: Path, share: float) -> None:
    with pytest.raises(NotATable):
        camt_of(tmp_path, CAMT[: int(len(CAMT) * share)])


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><Document>&b;</Document>',
        '<!DOCTYPE d SYSTEM "file:///etc/passwd"><Document/>',
        '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><Document>&x;</Document>',
        "<a>" * 500 + "</a>" * 500,
        f"<Document><Stmt><Id>{'x' * 20_000}</Id></Stmt></Document>",
        "<Document><Stmt></Document>",
        "<Document>&nbsp;</Document>",
    ],
)
def test_hostile_xml_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotATable):
        camt_of(tmp_path, text)
