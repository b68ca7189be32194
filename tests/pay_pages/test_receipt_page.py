"""The page of a receipt: for anybody with its address, with masked numbers, and with the file that proves it."""

import json
from pathlib import Path

from malipo.app.assemble import Service
from malipo.networks.connector import Type, Verdict
from malipo.payments.transaction import Status, Transaction
from malipo.phone import mask
from malipo.receipts.receipt_link import token_of
from malipo.receipts.store import facts
from malipo.restore.store import installation
from tests.links.link_steps import LinkSteps
from tests.pay_pages.customer import Customer
from tests.payments.payment_steps import PaymentSteps
from tests.receipts.log_stack import LogStack, verifier


async def token(steps: PaymentSteps, payment: Transaction) -> str:
    async with steps.database.read() as connection:
        secret = (await installation.get(connection)).key_secret
    return token_of(secret, payment.merchant_id, payment.id, payment.reference)


async def address(steps: PaymentSteps, payment: Transaction) -> str:
    return f"/receipt/{await token(steps, payment)}"


async def test_it_shows_what_was_paid_and_not_by_whom(steps: LinkSteps, customer: Customer) -> None:
    paid = await steps.ended(Type.COLLECTION, Status.COMPLETED, 25_000)
    seen = await customer.get(await address(steps, paid))
    assert seen.status == 200
    for words in ("✓ Paid", "TZS 25,000", "Duka", mask(paid.phone), "M-Pesa", paid.reference, "Share by WhatsApp"):
        assert words in seen.words, words
    for hidden in (paid.phone, paid.phone[4:], paid.name or "Asha", paid.id):
        assert hidden not in seen.text
    assert seen.headers["cache-control"] == "no-store"
    assert "noindex" in seen.headers["x-robots-tag"]
    assert len(seen.body) < 20_000
    customer.language = "sw"
    assert "Risiti" in (await customer.get(await address(steps, paid))).words


async def test_receipts_are_counted_apart_from_pages_to_pay(
    steps: LinkSteps, customer: Customer, service: Service
) -> None:
    where = await address(steps, await steps.ended(Type.COLLECTION, Status.COMPLETED))
    for path in (where, f"{where}/receipt.json", f"/pay/{(await steps.make()).code}"):
        assert (await customer.get(path)).status == 200
    counted = service.metrics.exposition().decode()
    for route, count in (("/receipt", 2), ("/pay", 1)):
        assert f'malipo_requests_total{{method="GET",route="{route}",status="200"}} {count}.0' in counted


async def test_an_address_that_was_not_given_out_is_no_receipt(steps: LinkSteps, customer: Customer) -> None:
    paid, failed = (
        await steps.ended(Type.COLLECTION, Status.COMPLETED),
        await steps.ended(Type.COLLECTION, Status.FAILED),
    )
    right = await token(steps, paid)
    wrong = [
        right[:-1] + ("0" if right[-1] != "0" else "1"),
        right.upper(),
        right[:-20],
        paid.reference,
        paid.id,
        f"{failed.reference}-{right[-20:]}",
        await token(steps, failed),
        "x",
        f"{right}\n",
    ]
    answers = [await customer.get(f"/receipt/{each}") for each in wrong]
    assert [each.status for each in answers] == [404] * len(wrong)
    assert all("TZS" not in each.words for each in answers)
    assert all("There is no such receipt" in each.words and "link" not in each.words for each in answers)
    assert "There is no such link" in (await customer.get("/pay/0000000000000000")).words
    assert (await customer.get(f"/receipt/{right[:-1]}x/receipt.json")).status == 404


async def test_it_proves_itself_once_there_is_a_checkpoint(
    steps: LinkSteps, customer: Customer, tmp_path: Path
) -> None:
    stack = LogStack(steps, tmp_path)
    paid = await steps.ended(Type.COLLECTION, Status.COMPLETED, 25_000)
    where = await address(steps, paid)
    assert "It proves itself" not in (await customer.get(where)).words
    await stack.number()
    await stack.sign()
    seen = await customer.get(where)
    assert "It proves itself" in seen.words
    assert "True as of" in seen.words
    file = await customer.get(f"{where}/receipt.json")
    assert file.headers["content-disposition"] == f'attachment; filename="receipt-{paid.reference}.json"'
    tool, keys = verifier(), await stack.keys()
    receipt = tool.load(file.text)["receipt"]
    [(fact, _, _)] = tool.verify_receipt(receipt, {tool.key_of(keys["keys"][0]): None})
    assert (fact["payment"], fact["amount"]) == (paid.id, 25_000)
    assert paid.phone not in json.dumps(receipt)


async def test_a_correction_is_said_at_once_and_proven_a_moment_later(
    steps: LinkSteps, customer: Customer, tmp_path: Path
) -> None:
    stack = LogStack(steps, tmp_path)
    paid = await steps.ended(Type.COLLECTION, Status.COMPLETED, 25_000)
    where = await address(steps, paid)
    await stack.number()
    await stack.sign()
    assert "It proves itself" in (await customer.get(where)).words
    await steps.contradict(paid, Verdict.REFUSED)
    seen = await customer.get(where)
    assert ("taken back" in seen.words, "It proves itself" in seen.words) == (True, False)
    file = json.loads((await customer.get(f"{where}/receipt.json")).text)["receipt"]
    assert [(each["kind"], each["proof"] is None) for each in file["facts"]] == [
        ("completed", False),
        ("corrected", True),
    ]
    await stack.number()
    await stack.sign()
    assert "It proves itself" in (await customer.get(where)).words
    tool, keys = verifier(), await stack.keys()
    proven = tool.load((await customer.get(f"{where}/receipt.json")).text)["receipt"]
    found = tool.verify_receipt(proven, {tool.key_of(keys["keys"][0]): None})
    assert [fact["fact"] for fact, _, _ in found] == ["completed", "corrected"]


async def test_a_merchant_that_is_renamed_stays_on_its_old_receipts(
    steps: LinkSteps, customer: Customer, tmp_path: Path
) -> None:
    stack = LogStack(steps, tmp_path)
    where = await address(steps, await steps.ended(Type.COLLECTION, Status.COMPLETED))
    await stack.number()
    await stack.execute("UPDATE merchants SET name = 'Benki Kuu' WHERE id = $1", steps.merchant_id)
    seen = await customer.get(where)
    to = seen.words.partition("To ")[2].partition("From ")[0]
    assert ("Duka" in to, "Benki Kuu" in to) == (True, False), to
    assert "Duka%3A" in seen.text, "the message to share"


async def test_what_was_erased_does_not_say_that_it_proves_itself(
    steps: LinkSteps, customer: Customer, tmp_path: Path
) -> None:
    stack = LogStack(steps, tmp_path)
    paid = await steps.ended(Type.COLLECTION, Status.COMPLETED)
    where = await address(steps, paid)
    await stack.number()
    await stack.sign()
    assert "It proves itself" in (await customer.get(where)).words
    async with stack.database.begin() as tx:
        await facts.erase(tx, paid.merchant_id, paid.id)
    seen = await customer.get(where)
    assert "It proves itself" not in seen.words
    assert "being made" not in seen.words
    assert "The proof of this receipt was erased." in seen.words
    customer.language = "sw"
    assert "Uthibitisho wa risiti hii umefutwa." in (await customer.get(where)).words


async def test_what_was_taken_back_says_so(steps: LinkSteps, customer: Customer) -> None:
    wrong = await steps.contradicted(Type.COLLECTION, Status.COMPLETED)
    seen = await customer.get(await address(steps, wrong))
    assert "Receipt of a payment that was taken back" in seen.words
    assert "✓" not in seen.words


async def test_a_payment_that_failed_and_came_after_all_has_one(steps: LinkSteps, customer: Customer) -> None:
    late = await steps.contradicted(Type.COLLECTION, Status.FAILED)
    seen = await customer.get(await address(steps, late))
    assert (seen.status, "✓ Paid" in seen.words) == (200, True)


async def test_the_pay_page_leads_the_payer_to_it(steps: LinkSteps, customer: Customer, other: Customer) -> None:
    link = await steps.make()
    await customer.get(f"/pay/{link.code}")
    await customer.post(f"/pay/{link.code}", {"buyerPhone": "0754 000 100", "channel": ""})
    [payment] = await steps.payments()
    await steps.claim()
    assert "/receipt/" not in (await customer.get(f"/pay/{link.code}")).text
    await steps.report(payment, Verdict.CONFIRMED)
    where = await address(steps, payment)
    assert f'href="{where}"' in (await customer.get(f"/pay/{link.code}")).text
    assert (await customer.get(where)).status == 200
    assert "/receipt/" not in (await other.get(f"/pay/{link.code}")).text
