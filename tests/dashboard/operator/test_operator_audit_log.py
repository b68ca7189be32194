"""/operator/audit: what anybody has done, found by who, what, whose and when; and as CSV."""

import csv
import io
import re
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

import malipo
from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.audit_log.store import AuditLogFilter
from malipo.dashboard.operator.audit_log_sentences import ACTIONS
from tests.dashboard.operator.operator_pages import OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages

PATH = "/operator/audit"


async def _note(
    operator_pages: OperatorPages, actor: str, action: str, *, now: datetime | None = None, **details: object
) -> None:
    """Of this test's own merchant: the database is shared."""
    async with operator_pages.service.queries.database.begin() as tx:
        await audit_log.append(
            tx,
            Actor(actor, "196.41.7.20"),
            action,
            now=now or clock.now(),
            merchant_id=operator_pages.merchant.id,
            **details,
        )


def _link(operator_pages: OperatorPages, path: str = PATH, **filters: str) -> str:
    chosen = {"merchant": operator_pages.merchant.id} | filters
    return f"{path}?" + "&".join(f"{name}={quote(value)}" for name, value in chosen.items())


async def test_an_entry_is_shown_as_a_sentence_with_its_details(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    await _note(operator_pages, "operator juma", "wallet.settlement", amount=250_000, reference="NMB-77", problems=[])
    seen = await asha.surfer.get(_link(operator_pages))
    for shown in (
        "Sent TZS 250,000 from a wallet to the merchant's bank",
        "wallet.settlement",
        "juma",
        "From 196.41.7.20",
        "reference NMB-77",
        "Duka <b>la</b> Juma",
    ):
        assert shown in seen.words
    assert "problems" not in seen.words, "what is empty is left out"
    assert "<b>la</b>" not in seen.text


async def test_entries_are_found_by_who_what_whose_and_when(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    old = clock.now() - timedelta(days=40)
    await _note(operator_pages, "operator juma", "wallet.top_up", amount=11_111)
    await _note(operator_pages, "neema@duka.example", "api_key.revoked", key="key_22222")
    await _note(operator_pages, "operator juma", "tariff.set", now=old, note="33333")
    every = {"11,111", "key_22222", "33333"}

    async def found(**filters: str) -> set[str]:
        seen = await asha.surfer.get(_link(operator_pages, **filters))
        assert seen.status == 200
        return {each for each in every if each in seen.words}

    assert await found() == every
    assert await found(actor="JUMA") == {"11,111", "33333"}
    assert await found(action="api_key.revoked") == {"key_22222"}
    assert await found(actor="juma", action="tariff.set") == {"33333"}
    assert await found(**{"from": f"{old + timedelta(days=2):%Y-%m-%d}"}) == {"11,111", "key_22222"}
    assert await found(to=f"{old + timedelta(days=2):%Y-%m-%d}") == {"33333"}
    assert await found(actor="nobody of this name") == set()
    assert await found(merchant="no such merchant") == set()


async def test_pages_follow_each_other_without_gap_or_repeat(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    for number in range(60):
        await _note(operator_pages, "operator juma", "tariff.set", note=f"here-{number:02}")
    first = await asha.surfer.get(_link(operator_pages, actor="juma"))
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older is not None
    assert "actor=juma" in older[1], "the filters stay"
    second = await asha.surfer.get(older[1].replace("&amp;", "&"))
    assert len(set(re.findall(r"here-\d\d", first.text))) == 50
    both = re.findall(r"here-(\d\d)", first.text + second.text)
    assert sorted(both) == [f"{number:02}" for number in range(60)]
    assert 'rel="next"' not in second.text


async def test_a_page_reads_no_more_than_it_may_and_says_where_to_go_on(operator_pages: OperatorPages) -> None:
    now = clock.now()
    for number in range(6):  # entries of one millisecond have no order
        actor = "operator juma" if number == 0 else "operator asha"
        await _note(operator_pages, actor, "tariff.set", now=now + timedelta(milliseconds=number))
    wanted = AuditLogFilter(actor="juma", merchant_ids=[operator_pages.merchant.id])
    async with operator_pages.service.queries.database.read() as connection:
        page = await audit_log.find_page(connection, wanted, before=None, limit=10, most=4)
        assert (page.entries, page.is_cut) == ([], True)
        further = await audit_log.find_page(connection, wanted, before=page.older, limit=10, most=4)
    assert [each.actor for each in further.entries] == ["operator juma"]


async def test_the_csv_has_what_the_filters_leave_and_runs_nothing(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    await _note(operator_pages, "=cmd()@duka.example", "tariff.set", fixed=300)
    await _note(operator_pages, "operator juma", "api_key.revoked")
    sent = await asha.surfer.get(_link(operator_pages, f"{PATH}.csv", action="tariff.set"))
    assert sent.headers["Content-Disposition"] == 'attachment; filename="audit-log.csv"'
    [row] = csv.DictReader(io.StringIO(sent.text, newline=""))
    assert (row["actor"], row["action"]) == ("'=cmd()@duka.example", "tariff.set")
    assert (row["merchantId"], row["details"]) == (operator_pages.merchant.id, '{"fixed":300}')


@pytest.mark.parametrize(
    "filters", [{"from": "2026-13-40"}, {"from": "2026-11-02", "to": "2026-11-01"}, {"actor": "\0"}]
)
async def test_a_filter_that_cannot_be_is_marked(operator_pages: OperatorPages, filters: dict[str, str]) -> None:
    asha = await operator_pages.operator("asha")
    seen = await asha.surfer.get(_link(operator_pages, **filters))
    assert (seen.status, 'class="wrong"' in seen.text) == (400, True)
    assert (await asha.surfer.get(_link(operator_pages, f"{PATH}.csv", **filters))).status == 400


async def test_merchants_and_strangers_do_not_see_it(operator_pages: OperatorPages) -> None:
    stranger = await operator_pages.browser()
    for path in (PATH, f"{PATH}.csv"):
        assert (await stranger.surfer.get(path)).to.startswith("/operator/login")


def test_every_action_has_a_sentence() -> None:
    """Held against the code, so that a new one gets words."""
    root = Path(malipo.__file__).parent
    text = "\n".join(each.read_text() for each in root.rglob("*.py"))
    noted = set(
        re.findall(
            r"(?:note|append|append_to_audit_log)\(\s*(?:\w+,\s*)(?:Actor\([^)]*\)|[\w.]+),\s*\"([a-z_]+\.[a-z_]+)\"",
            text,
        )
    )
    assert "statement.imported" in noted
    assert noted - ACTIONS.keys() == set()
