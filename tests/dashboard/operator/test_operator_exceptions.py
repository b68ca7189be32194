"""/operator/exceptions: filtered, chosen together, proposed by one operator and approved by another, and undone."""

import re
import secrets
from datetime import timedelta

from malipo import clock
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.exceptions import ExceptionFilter
from tests.conftest import make_merchant
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.statement_pages import an_account, generic, import_from, sent
from tests.dashboard.page_client import Seen

PATH = "/operator/exceptions"
REASON = "Support of the network says that it is theirs, ticket 4711"


async def _found(operator_pages: OperatorPages, operator: Operator, *amounts: int) -> list[ReconciliationException]:
    """Lines that fit nothing of ours, imported; in the order of the file."""
    account, mark = an_account(), secrets.token_hex(4).upper()
    entries = [(f"{mark}{number}", amount) for number, amount in enumerate(amounts)]
    done = await import_from(operator, await sent(operator, generic(entries), account=account))
    assert done.status == 303, done.words
    async with operator_pages.service.queries.database.read() as connection:
        found = await exceptions.find(connection, ExceptionFilter(), limit=500)
    return sorted((each for each in found if each.account == account), key=lambda each: each.receipt or "")


def _fields(seen: Seen) -> list[tuple[str, str]]:
    """What was shown, as the form of the page sends it."""
    pairs = re.findall(r'name="(exception|seen|shown|code)" value="([^"]+)"', seen.text)
    return list(dict.fromkeys(pairs))


async def _chosen(operator: Operator, found: list[ReconciliationException]) -> Seen:
    query = "&".join(f"exception={each.id}" for each in found)
    seen = await operator.surfer.get(f"{PATH}/chosen?{query}")
    assert seen.status == 200
    return seen


async def _propose(operator: Operator, page: Seen, choice: str, **more: str) -> Seen:
    fields = [*_fields(page), ("choice", choice), ("reason", REASON), *more.items()]
    return await operator.surfer.post(f"{PATH}/propose", fields)


async def _states(operator_pages: OperatorPages, found: list[ReconciliationException]) -> list[str]:
    async with operator_pages.service.queries.database.read() as connection:
        return [each.state for each in await exceptions.find_by_ids(connection, [each.id for each in found])]


async def test_many_are_proposed_together_and_approved_together_by_another(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    found = await _found(operator_pages, asha, -2_000_000, -3_000_000)
    listed = await asha.surfer.get(f"{PATH}?kind=theirs_only&channel=TIGO_PESA&state=open&age=today")
    assert all((each.receipt or "") in listed.words for each in found)
    page = await _chosen(asha, found)
    charged = re.findall(r"Charged by networks: -?TZS ([\d,]+) → -?TZS ([\d,]+)\.", page.words)
    [(before, after)] = [[int(each.replace(",", "")) for each in pair] for pair in charged]
    assert after - before == 5_000_000
    assert (await _propose(asha, page, "book:network_fees")).to == PATH
    assert await _states(operator_pages, found) == ["proposed", "proposed"]

    own = await _chosen(asha, found)
    assert "Approve all of these" not in own.words
    refused = await asha.surfer.post(f"{PATH}/approve", _fields(own))
    assert (refused.status, "it takes two operators" in refused.words) == (403, True)
    assert await _states(operator_pages, found) == ["proposed", "proposed"], "none of them, if one is refused"

    seen = await _chosen(juma, found)
    assert REASON in seen.words
    assert (await juma.surfer.post(f"{PATH}/approve", _fields(seen))).to == PATH
    assert await _states(operator_pages, found) == ["resolved", "resolved"]
    assert "It is done." in (await juma.surfer.get(PATH)).words


async def test_one_shows_its_line_and_is_undone_with_a_reason(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    [found] = await _found(operator_pages, asha, 1500)
    path = f"{PATH}/{found.id}"
    page = await asha.surfer.get(path)
    for shown in ("Only on the statement", found.receipt or "", "TZS 1,500"):
        assert shown in page.words
    done = await _propose(asha, page, "book:suspense")
    assert done.to == path, "a small one is done at once"
    assert await _states(operator_pages, [found]) == ["resolved"]
    resolved = await asha.surfer.get(path)
    assert "Undo it" in resolved.words
    short = await asha.surfer.post(f"{path}/undo", [*_fields(resolved), ("reason", "oops")])
    assert (short.status, 'class="wrong"' in short.text) == (400, True)
    undone = await asha.surfer.post(f"{path}/undo", [*_fields(resolved), ("reason", REASON)])
    assert undone.to == path
    assert await _states(operator_pages, [found]) == ["open"]
    assert "Undone since." in (await asha.surfer.get(path)).words


async def test_a_form_decides_about_nothing_else_than_what_was_seen(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    found = await _found(operator_pages, asha, -2_000_000)
    page = await _chosen(asha, found)
    await _propose(asha, page, "book:losses")
    seen = await _chosen(juma, found)
    await asha.surfer.post(f"{PATH}/reject", _fields(await _chosen(asha, found)))
    await _propose(asha, await _chosen(asha, found), "book:suspense")
    for act in ("approve", "reject"):
        refused = await juma.surfer.post(f"{PATH}/{act}", _fields(seen))
        assert (refused.status, "It has changed since you looked." in refused.words) == (409, True)
    again = await _propose(asha, page, "book:losses")
    assert (again.status, "It has changed since you looked." in again.words) == (409, True)
    assert await _states(operator_pages, found) == ["proposed"]


async def test_mistakes_are_marked_and_what_was_typed_stays(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    [found] = await _found(operator_pages, asha, 700)
    page = await asha.surfer.get(f"{PATH}/{found.id}")
    for choice, field in (("", "choice"), ("undo", "choice"), ("match", "payment"), ("adopt", "merchant")):
        refused = await _propose(asha, page, choice)
        assert (refused.status, f'id="field-{field}-wrong"' in refused.text) == (400, True), choice
        assert REASON in refused.text
    refused = await _propose(asha, page, "match", payment="MLP-NOSUCHPAYMENT00")
    assert refused.status == 409
    assert await _states(operator_pages, [found]) == ["open"]


async def test_forged_forms_are_refused(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    [found] = await _found(operator_pages, asha, 700)
    fields = [*_fields(await asha.surfer.get(f"{PATH}/{found.id}")), ("choice", "book:losses"), ("reason", REASON)]
    for path in (f"{PATH}/propose", f"{PATH}/approve", f"{PATH}/reject", f"{PATH}/{found.id}/undo"):
        assert (await asha.surfer.post(path, fields, token=juma.surfer.token)).status == 403
    assert await _states(operator_pages, [found]) == ["open"]


async def test_what_is_not_there_is_not_found(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    assert (await asha.surfer.get(f"{PATH}/exc_none")).status == 404
    assert (await asha.surfer.get(f"{PATH}/chosen?exception=nothing")).to == PATH


async def test_what_an_adoption_changes_is_shown_with_the_merchants_fee_to_both_before_they_decide(
    operator_pages: OperatorPages,
) -> None:
    """By hand: 10,000 came in, the tariff takes 130, so the wallet gets 9,870."""
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    name = f"Soko {secrets.token_hex(4)}"
    soko = await make_merchant(operator_pages.service.queries.database, name=name)
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("INSERT INTO tariffs VALUES ($1, 'COLLECTION', 'TIGO_PESA', 0, 130, 0, 0, NULL)", soko.id)
    [found] = await _found(operator_pages, asha, 10_000)
    path = f"{PATH}/{found.id}"
    page = await asha.surfer.get(path)
    assert "You see what it changes before it is proposed." in page.words
    typed = {"merchant": soko.id, "phone": "+255712000001", "idempotency_key": "order-7", "name": "Neema"}
    look = await _propose(asha, page, "adopt", **typed)
    for field, value in typed.items():
        assert f'<input type="hidden" name="{field}" value="{value}">' in look.text, "all of it is proposed then"
    assert (look.status, await _states(operator_pages, [found])) == (200, ["open"]), "nothing is proposed yet"
    for seen in (look, await _propose(asha, look, "adopt", **typed)):
        assert seen.status in (200, 303)
    approver = await juma.surfer.get(path)
    for seen in (look, approver):
        assert f"Wallet of {name} TZS 0 → TZS 9,870 ( + TZS 9,870 )" in seen.words
    stale = [(name, f"{value[:-1]}_" if name == "code" else value) for name, value in _fields(approver)]
    refused = await juma.surfer.post(f"{PATH}/approve", stale)
    assert (refused.status, "It has changed since you looked." in refused.words) == (409, True)
    assert (await juma.surfer.post(f"{PATH}/approve", _fields(approver))).to == path
    assert await _states(operator_pages, [found]) == ["resolved"]


async def test_of_several_on_a_page_all_that_is_proposed_is_shown_and_each_is_compared(
    operator_pages: OperatorPages,
) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    soko = await make_merchant(operator_pages.service.queries.database, name=f"Soko {secrets.token_hex(4)}")
    found = await _found(operator_pages, asha, 10_000, -2_000_000)
    typed = {"merchant": soko.id, "phone": "+255712000001", "idempotency_key": "order-7", "name": "Neema"}
    look = await _propose(asha, await asha.surfer.get(f"{PATH}/{found[0].id}"), "adopt", **typed)
    assert (await _propose(asha, look, "adopt", **typed)).status == 303
    await _propose(asha, await _chosen(asha, found[1:]), "book:losses")
    assert await _states(operator_pages, found) == ["proposed", "proposed"]

    for page in (await _chosen(juma, found), await juma.surfer.get(f"{PATH}/{found[0].id}")):
        assert [each for each in typed.values() if each not in page.words] == []
    seen = await _chosen(juma, found)
    for each in found:
        fields = _fields(seen)
        stale = [(name, f"{value[:-1]}_" if name == "code" and each.id in value else value) for name, value in fields]
        missing = [(name, value) for name, value in fields if name != "code" or each.id not in value]
        for wrong in (stale, missing):
            refused = await juma.surfer.post(f"{PATH}/approve", wrong)
            assert (refused.status, "It has changed since you looked." in refused.words) == (409, True)
    assert await _states(operator_pages, found) == ["proposed", "proposed"]
    assert (await juma.surfer.post(f"{PATH}/approve", _fields(seen))).to == PATH
    assert await _states(operator_pages, found) == ["resolved", "resolved"]


async def test_an_exception_has_an_owner_and_a_day_and_the_list_is_filtered_by_them(
    operator_pages: OperatorPages,
) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    [mine, due, free] = await _found(operator_pages, asha, -700, -800, -900)
    today = clock.day_of(clock.now())
    for exception, owner, day in ((mine, asha.name, today + timedelta(days=9)), (due, juma.name, today)):
        path = f"{PATH}/{exception.id}"
        assert (await asha.surfer.post(f"{path}/assign", {"owner": owner, "due": str(day)})).to == f"{path}#casework"
    everything = {mine.receipt, due.receipt, free.receipt}
    for query, found in (
        ("", everything),
        ("owner=me", {mine.receipt}),
        ("owner=none", {free.receipt}),
        ("due=yes", {due.receipt}),
        ("owner=wrong&due=wrong", everything),
    ):
        seen = await asha.surfer.get(f"{PATH}?{query}")
        assert {each for each in everything if each and each in seen.text} == found, query
    waiting = (await asha.surfer.get("/operator/waiting")).text
    assert [each.receipt in waiting for each in (mine, due, free) if each.receipt] == [True, True, False]
    assert (await asha.surfer.post(f"{PATH}/exc_none/assign", {"owner": asha.name})).status == 404


async def test_the_exceptions_of_one_payment_stand_on_its_page(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    payment = await operator_pages.late()
    found = await _found(operator_pages, asha, -700, -800)
    async with operator_pages.service.queries.database.begin() as tx:
        for each in found:
            await tx.execute(
                "UPDATE reconciliation_exceptions SET merchant_id = $2, transaction_id = $3 WHERE id = $1",
                each.id,
                payment.merchant_id,
                payment.id,
            )
    page = await asha.look(payment)
    assert [f'href="{PATH}/{each.id}"' in page.text for each in found] == [True, True]
    one = await asha.surfer.get(f"{PATH}/{found[0].id}")
    assert (f'href="{PATH}/{found[1].id}"' in one.text, f"/operator/cases/{payment.reference}" in one.text) == (
        True,
        True,
    )
