"""/operator/restore: operators see why nothing is sent, let it begin again, and hold payments."""

import re

import pytest

from malipo.audit_log import store as audit_log
from malipo.http.accept_language import Language
from malipo.payments.transaction import Status, Transaction, Type
from malipo.restore.installation import Installation
from malipo.restore.store import installation
from tests.bank.bank_desk import open_account
from tests.dashboard.operator.operator_pages import COLLECTION, PAYOUT, Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.page_client import PASSWORD, Seen, Surfer, add_person, surfing
from tests.journeys.concurrency import order

PATH = "/operator/restore"
REASON = "The database knows of 4 batches of payments, and this host has seen 9: it was restored."
EVIDENCE = "Statements of all networks from 09:00 to 10:30"


async def _standing(operator_pages: OperatorPages) -> Installation:
    async with operator_pages.service.queries.database.read() as connection:
        return await installation.get(connection)


async def _release(operator: Operator, **fields: str) -> Seen:
    """With what stands on the page, unless it is given."""
    seen = await operator.surfer.get(PATH)
    form = seen.text.split('action="/operator/restore/release"')[1]
    shown = dict(re.findall(r'name="(epoch|proposal|seen|alone)" value="([^"]*)"', form))
    return await operator.surfer.post(f"{PATH}/release", shown | {"evidence": EVIDENCE} | fields)


async def _fenced(operator_pages: OperatorPages, *names: str) -> list[Operator]:
    await operator_pages.service.fence(REASON, epoch=1)
    return [await operator_pages.operator(name) for name in names]


async def _payment(operator_pages: OperatorPages, type_: Type = PAYOUT) -> Transaction:
    return (await operator_pages.service.payments.initiate(order(operator_pages.merchant.id, type_, 1000))).transaction


async def test_every_page_says_why_nothing_is_sent_and_what_to_do(operator_pages: OperatorPages) -> None:
    [asha] = await _fenced(operator_pages, "asha")
    for page in ("/operator", "/operator/bookings", "/operator/networks", "/operator/ledger", "/operator/no-such-page"):
        seen = await asha.surfer.get(page)
        assert REASON in seen.words, page
        assert "API keys that were revoked since the backup are back" in seen.words
        assert f'href="{PATH}"' in seen.text
    stranger = await operator_pages.browser()
    assert REASON not in (await stranger.surfer.get("/operator/login")).words


async def test_the_page_says_which_statements_of_the_bank_settlements_wait_for(operator_pages: OperatorPages) -> None:
    [asha] = await _fenced(operator_pages, "asha")
    assert "Settlements are not released" not in (await asha.surfer.get(PATH)).words, "we have no account at a bank"
    await open_account(operator_pages.service.queries.database)
    seen = await asha.surfer.get(PATH)
    assert "Settlements are not released. Import the bank's statements from" in seen.words
    assert 'href="/operator/bank/statements"' in seen.text


async def test_a_page_says_nothing_of_it_while_everything_goes(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    seen = await asha.surfer.get("/operator")
    assert 'class="notice bad"' not in seen.text
    assert "never found to be restored" in (await asha.surfer.get(PATH)).words


async def test_two_operators_let_sending_begin(operator_pages: OperatorPages) -> None:
    asha, juma = await _fenced(operator_pages, "asha", "juma")
    assert (await _release(asha)).to == PATH
    assert (await _standing(operator_pages)).is_fenced
    seen = await juma.surfer.get(PATH)
    assert EVIDENCE in seen.words
    assert asha.name in seen.words
    assert (await _release(juma, evidence="The same, looked at for myself")).to == PATH
    assert not (await _standing(operator_pages)).is_fenced
    after = await juma.surfer.get(PATH)
    assert "It is released: sending begins." in after.words
    assert "last found to be restored at" in after.words
    assert "<time" not in after.words, "a tag is escaped, and read as text"
    assert REASON not in after.words
    async with operator_pages.service.queries.database.read() as connection:
        deeds = [each for each in await audit_log.find(connection, limit=20) if "release" in each.action]
    assert [(each.action, each.actor) for each in reversed(deeds)] == [
        ("installation.release_proposed", f"operator {asha.name}"),
        ("installation.released", f"operator {juma.name}"),
    ]


async def test_whoever_proposed_it_cannot_let_it_begin(operator_pages: OperatorPages) -> None:
    asha, _ = await _fenced(operator_pages, "asha", "juma")
    await _release(asha)
    proposed = await asha.surfer.get(PATH)
    assert "You have proposed this." in proposed.words
    assert "sending begins" not in proposed.words
    refused = await _release(asha)
    assert (refused.status, "it takes two operators" in refused.words) == (403, True)
    refused = await _release(asha, alone="yes")
    assert (refused.status, "it takes two of them" in refused.words) == (403, True)
    assert (await _standing(operator_pages)).is_fenced


async def test_the_only_operator_decides_alone(operator_pages: OperatorPages) -> None:
    [asha] = await _fenced(operator_pages, "asha")
    assert "You are the only operator" in (await asha.surfer.get(PATH)).words
    await _release(asha)
    assert not (await _standing(operator_pages)).is_fenced


async def _reject(operator: Operator, words: str, **fields: str) -> Seen:
    """With what stands on the button's form, unless it is given."""
    form = (await operator.surfer.get(PATH)).text.split('action="/operator/restore/reject"')[1].split("</form>")[0]
    assert words in form
    shown = dict(re.findall(r'name="(epoch|proposal|channel|type)" value="([^"]*)"', form))
    return await operator.surfer.post(f"{PATH}/reject", shown | fields)


@pytest.mark.parametrize(("rejects", "words"), [(0, "Take it back"), (1, "Reject")])
async def test_a_proposal_is_taken_back_or_rejected_beside_its_approval(
    operator_pages: OperatorPages, rejects: int, words: str
) -> None:
    both = await _fenced(operator_pages, "asha", "juma")
    await _release(both[0])
    assert (await _reject(both[rejects], words)).to == PATH
    assert "The proposal is rejected. Nothing is sent by it." in (await both[rejects].surfer.get(PATH)).words
    seen = await both[1].surfer.get(PATH)
    assert (EVIDENCE in seen.words, "/operator/restore/reject" in seen.text) == (False, False)
    assert (await _standing(operator_pages)).is_fenced
    async with operator_pages.service.queries.database.read() as connection:
        [deed] = [
            each for each in await audit_log.find(connection, limit=20) if each.action.endswith("release_rejected")
        ]
    assert deed.actor == f"operator {both[rejects].name}"


async def test_a_proposal_of_a_channel_is_rejected_and_no_other(operator_pages: OperatorPages) -> None:
    asha, juma = await _fenced(operator_pages, "asha", "juma")
    await _release(asha)
    other = {"epoch": "2", "proposal": "", "channel": "TIGO_PESA", "type": "DISBURSEMENT"}
    assert (await asha.surfer.post(f"{PATH}/reject", other)).status == 409, "nobody has proposed that"
    refused = await _reject(juma, "Reject", proposal="rel_other")
    assert (refused.status, "It has changed since you looked." in refused.words) == (409, True)
    assert EVIDENCE in (await juma.surfer.get(PATH)).words


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"evidence": "looked"}, 400),
        ({"epoch": "1"}, 409),
        ({"proposal": "rel_other"}, 409),
        ({"channel": "MPESA"}, 400),
        ({"channel": "NOWHERE", "type": "DISBURSEMENT"}, 400),
    ],
)
async def test_a_form_lets_nothing_else_begin_than_what_was_seen(
    operator_pages: OperatorPages, fields: dict[str, str], status: int
) -> None:
    [asha] = await _fenced(operator_pages, "asha")
    refused = await _release(asha, **fields)
    assert (refused.status, 'class="notice bad"' in refused.text) == (status, True)
    assert (await _standing(operator_pages)).is_fenced


async def test_a_proposal_that_was_not_seen_is_not_approved(operator_pages: OperatorPages) -> None:
    asha, juma = await _fenced(operator_pages, "asha", "juma")
    await juma.surfer.get(PATH)
    await _release(asha)
    assert (await _release(juma, proposal="")).status == 409
    assert (await _standing(operator_pages)).is_fenced


async def test_what_is_open_is_shown_and_a_channel_is_released_by_itself(operator_pages: OperatorPages) -> None:
    payout = await _payment(operator_pages)
    asha, juma = await _fenced(operator_pages, "asha", "juma")
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("UPDATE dispatches SET attention = 'restored', query_count = 1")
    seen = await asha.surfer.get(PATH)
    assert "1 payment waits" in seen.words
    listed = await asha.surfer.get("/operator")
    assert payout.reference in listed.words
    assert "may have been sent before the database was restored" in listed.words
    case = await asha.look(payout)
    assert "Propose it" in case.words, "its statement may show that it was paid"
    scope = {"channel": payout.channel, "type": payout.type, "proposal": ""}
    assert (await _release(asha, **scope)).to == PATH
    named = r'name="proposal" value="(rel_\w+)">\s*<input type="hidden" name="seen" value="(\w+)"'
    [(proposal, code)] = set(re.findall(named, (await juma.surfer.get(PATH)).text))
    assert (await _release(juma, **scope | {"proposal": proposal, "seen": "aaaaaaaaaa"})).status == 409
    assert (await _release(juma, **scope | {"proposal": proposal, "seen": code})).to == PATH
    assert (await _standing(operator_pages)).is_fenced, "a channel is not the whole"
    async with operator_pages.service.queries.database.read() as connection:
        assert not await connection.fetchval("SELECT bool_or(is_asked_first) FROM dispatches")


async def test_what_may_have_been_sent_is_settled_by_two_and_cannot_be_cancelled(operator_pages: OperatorPages) -> None:
    payout = await _payment(operator_pages)
    asha, juma = await _fenced(operator_pages, "asha", "juma")
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("UPDATE dispatches SET attention = 'restored', query_count = 1")
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", operator_pages.merchant.id)
    assert "/cancel" not in (await asha.look(payout)).text
    forced = await asha.surfer.post(f"/operator/cases/{payout.reference}/cancel")
    assert (forced.status, "restored from a backup" in forced.words) == (503, True)
    assert payout.reference in forced.words, "one sees the case, and why not"
    assert (await asha.propose(payout, "completed", status="PENDING")).status == 303
    assert (await juma.approve(payout)).status == 303
    assert await operator_pages.status(payout) is Status.COMPLETED


async def test_operators_hold_everything_and_let_it_go(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    held = await asha.surfer.post(f"{PATH}/hold", {"scope": "everything", "reason": "The float is being counted"})
    assert held.to == PATH
    assert (await _standing(operator_pages)).held_at is not None
    assert "The float is being counted" in (await asha.surfer.get("/operator/networks")).words
    assert (await asha.surfer.post(f"{PATH}/end-hold", {"scope": "everything"})).to == PATH
    assert (await _standing(operator_pages)).held_at is None
    refused = await asha.surfer.post(f"{PATH}/end-hold", {"scope": "everything"})
    assert (refused.status, "There is no such hold." in refused.words) == (409, True)


async def test_operators_hold_one_channels_payouts(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    scope = "TIGO_PESA DISBURSEMENT"
    await asha.surfer.post(f"{PATH}/hold", {"scope": scope, "reason": "It says wrong things"})
    async with operator_pages.service.queries.database.read() as connection:
        [hold] = await installation.find_channel_holds(connection)
    assert (hold.channel, hold.type, hold.held_by) == ("TIGO_PESA", "DISBURSEMENT", f"operator {asha.name}")
    assert (await _standing(operator_pages)).held_at is None
    assert "It says wrong things" in (await asha.surfer.get(PATH)).words
    assert (await asha.surfer.post(f"{PATH}/end-hold", {"scope": scope})).to == PATH
    async with operator_pages.service.queries.database.read() as connection:
        assert await installation.find_channel_holds(connection) == []


@pytest.mark.parametrize("scope", ["", "MPESA", "MPESA REFUND", "NOWHERE COLLECTION", "all"])
async def test_a_scope_that_is_not_known_is_never_taken_for_everything(
    operator_pages: OperatorPages, scope: str
) -> None:
    asha = await operator_pages.operator("asha")
    for act in ("hold", "end-hold"):
        refused = await asha.surfer.post(f"{PATH}/{act}", {"scope": scope, "reason": "Something"})
        assert (refused.status, "Choose what is held." in refused.words) == (400, True)
    assert (await _standing(operator_pages)).held_at is None


async def test_forged_forms_are_refused(operator_pages: OperatorPages) -> None:
    asha, juma = await _fenced(operator_pages, "asha", "juma")
    epoch = (await _standing(operator_pages)).epoch
    for act in ("release", "reject", "hold", "end-hold"):
        fields = {
            "scope": "everything",
            "reason": "Something",
            "evidence": EVIDENCE,
            "epoch": str(epoch),
            "proposal": "",
        }
        forged = [
            await juma.surfer.post(f"{PATH}/{act}", fields, token=""),
            await juma.surfer.post(f"{PATH}/{act}", fields, token=asha.surfer.token),
            await juma.surfer.post(f"{PATH}/{act}", fields, headers={"Origin": "https://evil.example"}),
        ]
        assert [each.status for each in forged] == [403, 403, 403]
    standing = await _standing(operator_pages)
    assert (standing.is_fenced, standing.held_at) == (True, None)


async def test_the_page_speaks_kiswahili(operator_pages: OperatorPages) -> None:
    [asha] = await _fenced(operator_pages, "asha")
    await asha.surfer.post("/operator/language", {"language": Language.KISWAHILI, "next": PATH})
    assert "Ruhusu kutuma kuanze" in (await asha.surfer.get(PATH)).words


# The merchant's pages


async def _shopkeeper(operator_pages: OperatorPages, surfer: Surfer) -> None:
    await add_person(operator_pages.service.queries.database, operator_pages.merchant.id, "asha@duka.example")
    assert (await surfer.log_in("asha@duka.example", PASSWORD)).status == 303


async def test_a_merchants_people_are_logged_out_by_a_fence_and_see_their_payments_when_they_log_in(
    operator_pages: OperatorPages,
) -> None:
    payment = await _payment(operator_pages, COLLECTION)
    async with surfing(operator_pages.running.url) as surfer:
        await _shopkeeper(operator_pages, surfer)
        assert (await surfer.get("/dashboard/transactions")).status == 200
        await operator_pages.service.fence(REASON, epoch=1)
        sent_away = await surfer.get("/dashboard/transactions")
        assert (sent_away.status, sent_away.to.startswith("/dashboard/login")) == (303, True)
        await surfer.get("/dashboard/login")
        assert (await surfer.log_in("asha@duka.example", PASSWORD)).status == 303
        assert payment.reference in (await surfer.get("/dashboard/transactions")).words


async def test_a_merchant_reads_why_what_may_have_been_sent_is_not_cancelled(operator_pages: OperatorPages) -> None:
    payout = await _payment(operator_pages)
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("UPDATE dispatches SET is_asked_first = true")
    async with surfing(operator_pages.running.url) as surfer:
        await _shopkeeper(operator_pages, surfer)
        seen = await surfer.post(f"/dashboard/transactions/{payout.id}/cancel")
    assert seen.status == 409
    assert "if it cannot say, the operators of the service decide" in seen.words
    assert payout.reference in seen.words


@pytest.mark.parametrize("closed", ["restored", "held"])
async def test_a_merchant_is_told_why_no_payment_is_taken_and_nothing_is_made(
    operator_pages: OperatorPages, closed: str
) -> None:
    collection = await _payment(operator_pages, COLLECTION)
    if closed == "restored":
        await operator_pages.service.fence(REASON, epoch=1)
    else:
        async with operator_pages.service.queries.database.begin() as tx:
            await installation.set_hold(tx, held_by="operator asha", reason="Counting")
    sentence = {"restored": "restored from a backup", "held": "the operators of this service have stopped them"}[closed]
    typed = {"amount": "1500", "channel": "MPESA", "phone": "0754000200", "name": "Juma", "key": "dashboard-1"}
    async with surfing(operator_pages.running.url) as surfer:
        await _shopkeeper(operator_pages, surfer)
        for page in ("collect", "payout"):
            seen = await surfer.post(f"/dashboard/{page}", typed | {"step": "pay"})
            assert (seen.status, sentence in seen.words) == (503, True)
            assert "We do not know whether this was done" not in seen.words
        if closed == "restored":
            seen = await surfer.post(f"/dashboard/transactions/{collection.id}/cancel")
            assert (seen.status, sentence in seen.words, seen.headers["Retry-After"]) == (503, True, "60")
    async with operator_pages.service.queries.database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM transactions") == 1
