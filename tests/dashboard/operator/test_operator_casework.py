"""Owner, due day and files of a case and of an exception; what waits for me; several cases decided at once."""

import io
import re
import secrets
from datetime import timedelta

import aiohttp
import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import operator_at
from malipo.casework.attachment import MOST_BYTES, MOST_OF_ONE
from malipo.db import Database
from malipo.operators.roles import Role
from malipo.payments.transaction import Status, Transaction
from tests.dashboard.operator.operator_pages import COLLECTION, EVIDENCE, PAYOUT, Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import Seen
from tests.operators.role_steps import give, request

PDF = b"%PDF-1.7 a letter of the network"


def _database(pages: OperatorPages) -> Database:
    return pages.service.queries.database


def _path(payment: Transaction) -> str:
    return f"/operator/cases/{payment.reference}"


async def attach(operator: Operator, path: str, name: str, content: bytes, *, token: str | None = None) -> Seen:
    surfer = operator.surfer
    form = aiohttp.FormData(quote_fields=False)  # as browsers send names
    form.add_field("token", surfer.token if token is None else token)
    form.add_field("file", io.BytesIO(content), filename=name, content_type="application/pdf")
    headers = surfer.headers | {"Origin": surfer.url, "Sec-Fetch-Site": "same-origin"}
    url = f"{surfer.url}{path}/attach"
    async with surfer.http.post(url, data=form, headers=headers, allow_redirects=False) as answer:
        return Seen(answer.status, await answer.text(errors="replace"), answer.headers)


async def test_an_owner_and_a_day_are_shown_noted_and_listed(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payment, today = await operator_pages.late(), clock.day_of(clock.now())
    done = await asha.surfer.post(f"{_path(payment)}/assign", {"owner": juma.name, "due": str(today)})
    assert done.to == f"{_path(payment)}#casework"
    assert f"due {today}" in (await asha.surfer.get("/operator")).words
    mine = await juma.surfer.get("/operator/waiting")
    assert payment.reference in mine.text
    assert payment.reference in (await asha.surfer.get("/operator/waiting")).text, "it is due"
    assert payment.reference in (await juma.surfer.get("/operator?owner=me")).text
    assert payment.reference not in (await asha.surfer.get("/operator?owner=me")).text
    async with _database(operator_pages).read() as connection:
        [deed] = await audit_log.find(connection, merchant_id=operator_pages.merchant.id, limit=1)
    assert (deed.action, deed.details["owner"], deed.details["due"]) == ("assignment.changed", juma.name, str(today))
    again = await asha.surfer.post(f"{_path(payment)}/assign", {"owner": "", "due": ""})
    assert again.status == 303
    assert payment.reference not in (await juma.surfer.get("/operator/waiting")).text


async def test_only_who_may_decide_is_an_owner_and_no_day_is_over(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    await give(_database(operator_pages), juma.name, Role.AUDITOR)
    payment, yesterday = await operator_pages.late(), clock.day_of(clock.now()) - timedelta(days=1)
    for fields, said in (
        ({"owner": juma.name, "due": ""}, "is no operator who may decide"),
        ({"owner": "nobody.such", "due": ""}, "is no operator who may decide"),
        ({"owner": asha.name, "due": str(yesterday)}, "That day is over"),
        ({"owner": asha.name, "due": "soon"}, "Give the day as a date"),
    ):
        seen = await asha.surfer.post(f"{_path(payment)}/assign", fields)
        assert (seen.status, said in seen.words) == (400, True), fields
    assert (await asha.surfer.post("/operator/cases/TXN-NONE/assign", {"owner": asha.name})).status == 404


async def test_a_file_is_kept_and_only_downloaded(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payment = await operator_pages.late()
    assert (await attach(asha, _path(payment), "../../barua ya “M-Pesa”.pdf", PDF)).status == 303
    assert (await attach(asha, _path(payment), "again.pdf", PDF)).status == 303
    page = await asha.look(payment)
    [id_] = set(re.findall(r'href="/operator/attachments/(att_\w+)"', page.text))
    assert "barua ya “M-Pesa”.pdf" in page.text
    got = await asha.surfer.get(f"/operator/attachments/{id_}")
    assert (got.status, got.text) == (200, PDF.decode())
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith(
        'attachment; filename="barua ya _M-Pesa_.pdf"; filename*=UTF-8'
    )
    assert got.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert (await asha.surfer.get("/operator/attachments/att_none")).status == 404


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("letter.pdf", b"<html><script>alert(1)</script>", "Only PDF"),
        ("letter.html", b"<html>", "Only PDF"),
        ("letter.svg", b"<svg/>", "Only PDF"),
        ("picture.png", PDF, "Only PDF"),
        ("list.csv", b"a,b\0c", "Only PDF"),
        ("list.csv", b"\xff\xfe", "Only PDF"),
        ("list.csv", b"", "not empty"),
        ("", PDF, "Only PDF"),
        ("letter.pdf", PDF + b"x" * MOST_BYTES, "at most 2 MB"),
    ],
)
async def test_other_kinds_and_large_files_are_refused(
    operator_pages: OperatorPages, name: str, content: bytes, said: str
) -> None:
    asha = await operator_pages.operator("asha")
    payment = await operator_pages.late()
    refused = await attach(asha, _path(payment), name, content)
    assert (refused.status, said in refused.words) == (400, True), refused.words
    async with _database(operator_pages).read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM attachments WHERE subject = $1", payment.id) == 0


async def test_files_are_few_and_need_the_forms_token_and_the_role(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payment = await operator_pages.late()
    assert (await attach(asha, _path(payment), "a.pdf", PDF, token="")).status == 403
    for number in range(MOST_OF_ONE):
        assert (await attach(asha, _path(payment), "a.txt", f"line {number}".encode())).status == 303
    full = await attach(asha, _path(payment), "a.txt", b"one more")
    assert (full.status, "which is the most" in full.words) == (409, True)
    [id_, *_] = re.findall(r'href="/operator/attachments/(att_\w+)"', (await asha.look(payment)).text)
    await give(_database(operator_pages), juma.name, Role.AUDITOR)
    assert (await juma.surfer.get(f"/operator/attachments/{id_}")).status == 200
    assert (await attach(juma, _path(payment), "a.pdf", PDF)).status == 403
    await give(_database(operator_pages), juma.name, Role.SUPPORT)
    assert (await juma.surfer.get(f"/operator/attachments/{id_}")).status == 403
    assert "attachments" not in (await juma.look(payment)).text


async def test_what_waits_for_me_are_proposals_of_others_that_i_may_approve(operator_pages: OperatorPages) -> None:
    async with _database(operator_pages).begin() as tx:
        await tx.execute(
            "DELETE FROM proposals WHERE decided_at IS NULL"
        )  # of tests before this one: a hundred are shown
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    neema = await operator_pages.operator("neema")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed", despiteWaiting="yes")
    await request(_database(operator_pages), neema.name, Role.AUDITOR, by=operator_at(asha.name, "test"))
    seen = {each.name: (await each.surfer.get("/operator/waiting")).text for each in (asha, juma, neema)}
    shows = {name: (payout.id in _table(text), neema.name in _table(text)) for name, text in seen.items()}
    assert shows == {asha.name: (False, False), juma.name: (True, True), neema.name: (True, False)}


def _table(text: str) -> str:
    return text[text.index('id="proposals"') : text.index('id="mine"')]


async def chosen(operator: Operator, *payments: Transaction) -> Seen:
    query = "&".join(f"payment={each.reference}" for each in payments)
    seen = await operator.surfer.get(f"/operator/cases/chosen?{query}")
    assert seen.status == 200
    return seen


def cases_in(seen: Seen, act: str) -> list[tuple[str, str]]:
    [form] = re.findall(rf'action="/operator/cases/chosen/{act}">(.*?)</form>', seen.text, re.DOTALL)
    return [("case", each) for each in re.findall(r'name="case" value="([^"]*)"', form)]


def results_in(seen: Seen) -> list[str]:
    return re.findall(r'data-result="(\w+)"', seen.text)


async def test_several_cases_are_proposed_and_approved_at_once_each_for_itself(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payouts = [await operator_pages.late(PAYOUT, 700 + number) for number in range(3)]
    collection = await operator_pages.late(COLLECTION, 900)
    finding = [("outcome", "failed"), ("evidence", EVIDENCE), ("despiteWaiting", "yes")]
    seen = await asha.surfer.post(
        "/operator/cases/chosen/propose", [*cases_in(await chosen(asha, *payouts, collection), "propose"), *finding]
    )
    assert (seen.status, results_in(seen)) == (200, ["waits", "waits", "waits", "done"])
    assert await operator_pages.status(collection) is Status.FAILED, "one operator is enough: it moves nothing"
    own = await chosen(asha, *payouts)
    assert "/operator/cases/chosen/approve" not in own.text
    fields = cases_in(await chosen(juma, *payouts), "approve")
    # One is taken back meanwhile: it stops none of the others.
    await asha.surfer.post("/operator/cases/chosen/reject", cases_in(await chosen(asha, payouts[0]), "reject"))
    approved = await juma.surfer.post("/operator/cases/chosen/approve", fields)
    assert (approved.status, results_in(approved)) == (409, ["refused", "done", "done"])
    found = [await operator_pages.status(each) for each in payouts]
    assert found == [Status.PROCESSING, Status.FAILED, Status.FAILED]


async def test_nobody_approves_their_own_proposals_by_choosing_several(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payouts = [await operator_pages.late(PAYOUT, 700 + number) for number in range(2)]
    for each in payouts:
        await asha.propose(each, "completed")
    fields = cases_in(await chosen(juma, *payouts), "approve")
    refused = await asha.surfer.post("/operator/cases/chosen/approve", fields)
    assert (refused.status, results_in(refused)) == (409, ["refused", "refused"])
    stale = [("case", f"{each.reference} res_other code") for each in payouts] + [("case", "no such"), ("case", "%")]
    assert set(results_in(await juma.surfer.post("/operator/cases/chosen/approve", stale))) == {"refused"}
    assert [await operator_pages.status(each) for each in payouts] == [Status.PROCESSING] * 2
    stale = [("case", f"{each.reference} res_other") for each in payouts]
    assert results_in(await juma.surfer.post("/operator/cases/chosen/reject", stale)) == ["refused", "refused"]
    assert len(cases_in(await chosen(juma, *payouts), "approve")) == 2, "what is proposed still waits"
    assert (await juma.surfer.post("/operator/cases/chosen/approve", [])).status == 400


async def test_a_finding_for_several_needs_an_outcome_and_evidence(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payments = [await operator_pages.late(COLLECTION, 700 + number) for number in range(2)]
    fields = cases_in(await chosen(asha, *payments), "propose")
    seen = await asha.surfer.post("/operator/cases/chosen/propose", [*fields, ("evidence", "no")])
    assert (seen.status, "Say what became of the money" in seen.words) == (400, True)
    assert all(each.reference in seen.text for each in payments)
    assert [await operator_pages.status(each) for each in payments] == [Status.PROCESSING] * 2
    assert (await asha.surfer.get(f"/operator/cases/chosen?payment={secrets.token_hex(4)}")).status == 200
    assert (await asha.surfer.get("/operator/cases/chosen")).to == "/operator"
