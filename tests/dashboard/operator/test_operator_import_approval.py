"""On a file's page: the payments that it alone would end or contradict, with their sum, for a second operator."""

import html
import re
import secrets

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Transaction
from tests.dashboard.operator.operator_pages import COLLECTION, Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.statement_pages import an_account, import_from, sent
from tests.dashboard.page_client import Seen
from tests.payments.payment_steps import PaymentSteps
from tests.reconciliation.statement_days import line_of

MILLIONS = 8_000_000


async def declined(pages: OperatorPages) -> Transaction:
    steps = PaymentSteps(pages.service, pages.merchant.id)
    payment = await pages.late(COLLECTION, MILLIONS)
    return (await steps.report(payment, Verdict.REFUSED, AnswerSource.QUERY)).transaction


async def bring(operator: Operator, payment: Transaction) -> str:
    """A file of one line; the address of its page."""
    line = line_of(payment)
    rows = [
        "receipt,time,amount,balance,reference",
        f"{line.receipt},{line.at:%Y-%m-%d %H:%M:%S},{line.amount},{line.amount},{line.key}",
    ]
    page = await sent(operator, "\n".join([*rows, ""]).encode(), account=an_account(), channel=payment.channel)
    return (await import_from(operator, page)).to


def seen_on(page: Seen) -> str:
    found = re.search(r'name="seen" value="([^"]+)"', page.text)
    assert found, page.words
    return html.unescape(found[1])


async def test_a_second_operator_sees_the_list_with_its_sum_and_approves_it(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payment, before = await declined(operator_pages), await operator_pages.available()
    path = await bring(asha, payment)
    own = await asha.surfer.get(path)
    for shown in ("Waits for a second operator", "TZS 8,000,000", payment.reference, "wait for a second operator: 1."):
        assert shown in own.words
    assert f"{path}/approve-import" not in own.text, "no button for who imported it"
    refused = await asha.surfer.post(f"{path}/approve-import", {"seen": seen_on(own)})
    assert (refused.status, await operator_pages.available()) == (403, before)
    assert "Waits for a second operator" in (await juma.surfer.get("/operator/statements")).words

    page = await juma.surfer.get(path)
    stale = await juma.surfer.post(f"{path}/approve-import", {"seen": "prp_1 1 1"})
    assert (stale.status, await operator_pages.available()) == (409, before)
    done = await juma.surfer.post(f"{path}/approve-import", {"seen": seen_on(page)})
    assert (done.status, await operator_pages.available()) == (303, before + MILLIONS)
    assert "Waits for a second operator" not in (await juma.surfer.get(path)).words


async def test_who_said_what_a_word_means_sees_that_another_operator_approves_it(operator_pages: OperatorPages) -> None:
    asha, juma, neema = [await operator_pages.operator(name) for name in ("asha", "juma", "neema")]
    payment, before, word = await declined(operator_pages), await operator_pages.available(), f"B{secrets.token_hex(4)}"
    line, account = line_of(payment), an_account()
    rows = [
        "receipt,time,amount,reference,status",
        f"{line.receipt},{line.at:%Y-%m-%d %H:%M:%S},{line.amount},{line.key},{word}",
    ]
    content = "\n".join([*rows, ""]).encode()
    said = await asha.surfer.post(
        f"{await sent(asha, content, account=account, channel=payment.channel)}/words", {"word-0": "moved"}
    )
    assert said.status == 303, said.words
    path = (await import_from(juma, await sent(juma, content, account=account, channel=payment.channel))).to
    own = await asha.surfer.get(path)
    for shown in (
        f"{asha.name} said that the status “{word}” means that money moved. Rows: 1.",
        f"its status “{word}”",
    ):
        assert shown in own.words
    assert f"{path}/approve-import" not in own.text, "no button for who said what the word means"
    refused = await asha.surfer.post(f"{path}/approve-import", {"seen": seen_on(own)})
    assert (refused.status, await operator_pages.available()) == (403, before)
    assert "You have said how this file is read" in refused.words
    done = await neema.surfer.post(f"{path}/approve-import", {"seen": seen_on(await neema.surfer.get(path))})
    assert (done.status, await operator_pages.available()) == (303, before + MILLIONS)


async def test_what_a_second_operator_rejects_changes_nothing(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payment, before = await declined(operator_pages), await operator_pages.available()
    path = await bring(asha, payment)
    done = await juma.surfer.post(f"{path}/reject-import", {"seen": seen_on(await juma.surfer.get(path))})
    assert (done.status, await operator_pages.available()) == (303, before)
    assert await operator_pages.status(payment) is Status.FAILED
