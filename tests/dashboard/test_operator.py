"""/operator: who comes in, and how operators settle what no network does."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import pytest
from argon2 import PasswordHasher

from malipo import clock, ids
from malipo.dashboard.operator.networks import rows_of
from malipo.dashboard.operator.routes import PAGES
from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.networks.connect import Networks
from malipo.networks.contract import Channel, Verdict
from malipo.networks.store import Down
from malipo.payments.record import Change
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.service import Service
from malipo.trail import store as trail
from malipo.trail import store_sessions as sessions
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.surf import PASSWORD, Seen, Surfer, add_person, surfing
from tests.happen import happen
from tests.journeys.crowd import order
from tests.payments.story import Story

EVIDENCE = "Receipt QK12AB on the statement of 15 November"
PAYOUT, COLLECTION = Type.DISBURSEMENT, Type.COLLECTION
_PROPOSAL = re.compile(r'name="proposal" value="(res_[0-9a-z]+)"')


@cache
def _password_hash() -> str:
    return PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)


@dataclass
class Operator:
    """Somebody who runs the service, in front of a browser."""

    name: str
    address: str
    surfer: Surfer

    async def log_in(self, name: str | None = None, password: str = PASSWORD) -> Seen:
        seen = await self.surfer.post("/operator/login", {"name": name or self.name, "password": password})
        if seen.status == 303:
            await self.surfer.get("/operator/networks")  # whatever has a form has the token
        return seen

    async def look(self, payment: Transaction) -> Seen:
        seen = await self.surfer.get(f"/operator/cases/{payment.reference}")
        assert seen.status == 200, seen.words
        return seen

    async def propose(self, payment: Transaction, outcome: str, **fields: str) -> Seen:
        whole = {"status": "PROCESSING", "outcome": outcome, "evidence": EVIDENCE} | fields
        return await self.surfer.post(f"/operator/cases/{payment.reference}/propose", whole)

    async def decide(self, act: str, payment: Transaction, proposal: str) -> Seen:
        return await self.surfer.post(f"/operator/cases/{payment.reference}/{act}", {"proposal": proposal})

    async def approve(self, payment: Transaction) -> Seen:
        """What stands on the page now."""
        return await self.decide("approve", payment, proposal_on(await self.look(payment)))


def proposal_on(seen: Seen) -> str:
    found = _PROPOSAL.search(seen.text)
    assert found, seen.words
    return found[1]


@dataclass
class Office:
    service: Service
    running: Running
    merchant: Merchant
    stack: AsyncExitStack

    async def browser(self, name: str = "") -> Operator:
        address = f"10.{secrets.randbelow(250)}.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"
        surfer = await self.stack.enter_async_context(surfing(self.running.url, seen_from=address))
        return Operator(name, address, surfer)

    async def hire(self, name: str, *, password_hash: str | None = None) -> Operator:
        """An operator who has not logged in yet."""
        operator = await self.browser(f"{name}.{secrets.token_hex(4)}")
        async with self.service.database.begin() as tx:
            id_ = ids.mint("opr_", clock.now())
            assert await trail.insert_operator(tx, id_, operator.name, now=clock.now())
            await sessions.set_password(tx, id_, password_hash or _password_hash())
        return operator

    async def operator(self, name: str) -> Operator:
        operator = await self.hire(name)
        assert (await operator.log_in()).to == "/operator"
        return operator

    async def late(self, type_: Type = PAYOUT, amount: int = 1000) -> Transaction:
        """A payment that its network has had for a day, and says nothing of."""
        asked = order(self.merchant.id, type_, amount)
        made = (await self.service.initiate(asked)).transaction
        change = Change(merchant_id=self.merchant.id, transaction_id=made.id, cause=Cause.SUBMITTED)
        outcome = await happen(self.service, change)
        assert outcome is not None
        async with self.service.database.begin() as tx:
            await tx.execute(
                "UPDATE transactions SET processing_at = processing_at - interval '1 day', "
                "created_at = created_at - interval '1 day' WHERE merchant_id = $1 AND id = $2",
                self.merchant.id,
                made.id,
            )
        return outcome.transaction

    async def status(self, payment: Transaction) -> Status:
        return await Story(self.service, self.merchant.id).status(payment)

    async def available(self) -> int:
        async with self.service.database.read() as connection:
            return (await wallets.get(connection, self.merchant.id))[0].available

    async def deeds(self) -> list[tuple[str, str, str]]:
        """What was done about this merchant's payments, oldest first: what, who, from where."""
        async with self.service.database.read() as connection:
            found = await trail.find(connection, merchant_id=self.merchant.id, limit=100)
        return [(each.what, each.who, each.origin) for each in reversed(found) if each.what.startswith("payment.")]


@pytest.fixture
async def office(service: Service, running: Running, database: Database) -> AsyncIterator[Office]:
    merchant = await make_merchant(database, wallet=10_000, name="Duka <b>la</b> Juma")
    async with AsyncExitStack() as stack:
        yield Office(service, running, merchant, stack)


@pytest.mark.parametrize(
    ("outcome", "status", "left"), [("completed", Status.COMPLETED, 9000), ("failed", Status.FAILED, 10_000)]
)
async def test_two_operators_settle_a_payout(office: Office, outcome: str, status: Status, left: int) -> None:
    asha, juma = await office.operator("asha"), await office.operator("juma")
    payout = await office.late()
    listed = await asha.surfer.get("/operator")
    assert payout.reference in listed.words
    assert "It takes too long." in listed.words

    assert (await asha.propose(payout, outcome)).status == 303
    assert await office.status(payout) is Status.PROCESSING
    seen = await juma.look(payout)
    assert EVIDENCE in seen.words
    assert asha.name in seen.words
    assert (await juma.approve(payout)).status == 303

    assert (await office.status(payout), await office.available()) == (status, left)
    assert await office.deeds() == [
        ("payment.resolution_proposed", f"operator {asha.name}", asha.address),
        ("payment.resolved", f"operator {juma.name}", juma.address),
    ]
    assert payout.reference not in (await asha.surfer.get("/operator")).words


async def test_one_operator_alone_cannot_settle_a_payout(office: Office) -> None:
    asha = await office.operator("asha")
    payout = await office.late()
    await asha.propose(payout, "failed")
    seen = await asha.look(payout)
    assert f"/operator/cases/{payout.reference}/approve" not in seen.text
    refused = await asha.decide("approve", payout, proposal_on(seen))
    assert refused.status == 403
    assert "it takes two operators" in refused.words
    assert (await office.status(payout), await office.available()) == (Status.PROCESSING, 9000)


async def test_a_collection_is_settled_by_one(office: Office) -> None:
    asha = await office.operator("asha")
    collection = await office.late(COLLECTION)
    assert (await asha.propose(collection, "completed", providerReference="QK12AB")).status == 303
    assert (await office.status(collection), await office.available()) == (Status.COMPLETED, 11_000)
    seen = await asha.look(collection)
    assert "QK12AB" in seen.words
    assert "It is settled." in seen.words


@pytest.mark.parametrize("is_own", [True, False])
async def test_a_rejected_proposal_changes_nothing(office: Office, *, is_own: bool) -> None:
    asha, juma = await office.operator("asha"), await office.operator("juma")
    payout = await office.late()
    await asha.propose(payout, "failed")
    who = asha if is_own else juma
    assert (await who.decide("reject", payout, proposal_on(await who.look(payout)))).status == 303
    assert await office.status(payout) is Status.PROCESSING
    assert (await office.deeds())[-1] == ("payment.resolution_rejected", f"operator {who.name}", who.address)
    assert _PROPOSAL.search((await juma.look(payout)).text) is None


async def test_what_was_proposed_since_is_not_approved_by_an_older_page(office: Office) -> None:
    asha, juma = await office.operator("asha"), await office.operator("juma")
    payout = await office.late()
    await asha.propose(payout, "completed")
    seen_by_juma = proposal_on(await juma.look(payout))
    await asha.decide("reject", payout, seen_by_juma)
    await asha.propose(payout, "failed")

    for act in ("approve", "reject"):
        refused = await juma.decide(act, payout, seen_by_juma)
        assert refused.status == 409
        assert "It has changed since you looked." in refused.words
    assert await office.status(payout) is Status.PROCESSING
    assert (await juma.approve(payout)).status == 303, "what stands there now"
    assert await office.status(payout) is Status.FAILED


async def test_a_proposal_about_a_payment_that_its_network_has_ended_since_is_worth_nothing(office: Office) -> None:
    asha, juma = await office.operator("asha"), await office.operator("juma")
    payout = await office.late()
    await asha.propose(payout, "failed")
    proposal = proposal_on(await juma.look(payout))
    await Story(office.service, office.merchant.id).hear(payout, Verdict.CONFIRMED)
    refused = await juma.decide("approve", payout, proposal)
    assert refused.status == 409
    assert "It is COMPLETED, and nothing contradicts that." in refused.words
    assert "That no longer counts." in refused.words
    assert (await office.status(payout), await office.available()) == (Status.COMPLETED, 9000)


async def test_a_finding_about_an_open_payment_says_nothing_of_one_that_has_ended(office: Office) -> None:
    asha = await office.operator("asha")
    payout = await office.late()
    await asha.look(payout)
    await Story(office.service, office.merchant.id).hear(payout, Verdict.CONFIRMED)
    assert (await asha.propose(payout, "failed")).status == 409
    assert await office.deeds() == []


async def test_of_two_approvals_at_once_one_counts(office: Office) -> None:
    asha, *others = [await office.operator(name) for name in ("asha", "juma", "neema")]
    payout = await office.late()
    await asha.propose(payout, "failed")
    proposals = [proposal_on(await each.look(payout)) for each in others]
    answers = await asyncio.gather(
        *(each.decide("approve", payout, proposal) for each, proposal in zip(others, proposals, strict=True))
    )
    assert sorted(each.status for each in answers) == [303, 409]
    assert (await office.status(payout), await office.available()) == (Status.FAILED, 10_000)
    assert [what for what, _, _ in await office.deeds()] == ["payment.resolution_proposed", "payment.resolved"]


async def test_a_finding_takes_an_outcome_and_evidence_and_keeps_what_was_typed(office: Office) -> None:
    asha = await office.operator("asha")
    payout = await office.late()
    seen = await asha.propose(payout, "", evidence="too <i>thin")
    assert seen.status == 400
    assert seen.text.count('class="wrong"') == 1
    assert "Say what became of the money." in seen.words
    assert "too &lt;i&gt;thin" in seen.text
    seen = await asha.propose(payout, "completed", evidence="  short \n ", providerReference="x" * 101)
    assert seen.text.count('class="wrong"') == 2
    assert (await asha.propose(payout, "completed", evidence="two\r\nlines of it")).status == 303
    assert "two lines of it" in (await asha.look(payout)).words


async def test_every_value_is_escaped(office: Office) -> None:
    asha = await office.operator("asha")
    payout = await office.late()
    await asha.propose(payout, "failed", evidence="<script>alert(1)</script>")
    for seen in (await asha.look(payout), await asha.surfer.get("/operator")):
        assert "Duka <b>" not in seen.text
        assert "Duka &lt;b&gt;la" in seen.text
        assert "<script>" not in seen.text


async def test_forged_forms_are_refused(office: Office) -> None:
    asha, juma = await office.operator("asha"), await office.operator("juma")
    payout = await office.late()
    await asha.propose(payout, "failed")
    fields = {"proposal": proposal_on(await juma.look(payout))}
    for path in [f"/operator/cases/{payout.reference}/{act}" for act in ("propose", "approve", "reject")] + [
        "/operator/ledger",
        "/operator/logout",
        "/operator/language",
    ]:
        forged = [
            await juma.surfer.post(path, fields, token=""),
            await juma.surfer.post(path, fields, token=asha.surfer.token),
            await juma.surfer.post(path, fields, headers={"Origin": "https://evil.example"}),
        ]
        assert [each.status for each in forged] == [403, 403, 403], path
    assert await office.status(payout) is Status.PROCESSING
    assert (await juma.approve(payout)).status == 303, "and is still logged in"


async def test_nothing_is_shown_to_who_is_not_logged_in(office: Office) -> None:
    stranger = (await office.browser()).surfer
    for page in PAGES:
        path = page.path.replace("{payment}", "txn_1")
        if page.is_for_everybody:
            continue
        seen = await (stranger.get(path) if page.method == "GET" else stranger.post(path))
        expected = f"/operator/login?next={path}" if page.method == "GET" else "/operator/login"
        assert (seen.status, seen.to) == (303, expected)
    assert sum(not page.is_for_everybody for page in PAGES) >= 10


async def test_merchants_cookies_do_not_open_the_operators_pages_nor_the_other_way_round(office: Office) -> None:
    email = f"owner-{secrets.token_hex(4)}@example.com"
    await add_person(office.service.database, office.merchant.id, email)
    browser = await office.browser()
    owner = (await browser.surfer.log_in(email)).cookies["malipo_session"]
    assert (await browser.surfer.get("/operator")).to.startswith("/operator/login")

    asha = await office.hire("asha")
    operator = (await asha.log_in()).cookies["malipo_operator"]
    assert (await asha.surfer.get("/dashboard")).to.startswith("/dashboard/login")

    owners, operators = (re.split("[=;]", each)[1] for each in (owner, operator))
    stranger = (await office.browser()).surfer
    swapped = {"Cookie": f"malipo_operator={owners}; malipo_session={operators}"}
    assert (await stranger.get("/operator", headers=swapped)).to.startswith("/operator/login")
    assert (await stranger.get("/dashboard", headers=swapped)).to.startswith("/dashboard/login")
    assert (await stranger.get("/operator", headers={"Cookie": f"malipo_operator={operators}"})).status == 200


async def test_the_cookie_goes_nowhere_else_and_no_script_reads_it(office: Office) -> None:
    asha = await office.hire("asha")
    cookie = (await asha.log_in()).cookies["malipo_operator"]
    for part in ("HttpOnly", "Path=/operator", "Max-Age=43200", "SameSite=lax"):
        assert part in cookie
    assert "Secure" not in cookie
    fields = {"name": asha.name, "password": PASSWORD}
    over_tls = await asha.surfer.post("/operator/login", fields, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in over_tls.cookies["malipo_operator"]


async def test_a_session_ends_with_the_log_out_and_with_the_day(office: Office) -> None:
    asha = await office.hire("asha")
    sealed = (await asha.log_in()).cookies["malipo_operator"].partition(";")[0]
    assert (await asha.surfer.post("/operator/logout")).to == "/operator/login"
    replayed = await (await office.browser()).surfer.get("/operator", headers={"Cookie": sealed})
    assert replayed.status == 303

    await asha.log_in()
    async with office.service.database.begin() as tx:
        mine = "FROM operators o WHERE o.id = s.operator_id AND o.name = $1 AND s.ended_at IS NULL"
        life = await tx.fetchval(
            f"SELECT expires_at - s.created_at FROM operator_sessions s, LATERAL (SELECT 1 {mine}) AS of_hers",
            asha.name,
        )
        await tx.execute(f"UPDATE operator_sessions s SET expires_at = now() {mine}", asha.name)
    assert life == timedelta(hours=12)
    assert (await asha.surfer.get("/operator")).status == 303


async def test_guesses_are_counted_by_place_and_forgiven_to_who_knows(office: Office) -> None:
    asha = await office.hire("asha")
    for _ in range(4):
        assert (await asha.log_in(password="not it at all")).status == 400
    assert (await asha.log_in()).status == 303
    for _ in range(5):
        assert (await asha.log_in(password="not it at all")).status == 400, "those from before are forgiven"
    refused = await asha.log_in()
    assert refused.status == 429
    assert int(refused.headers["Retry-After"]) > 0
    elsewhere = Operator(asha.name, "", (await office.browser()).surfer)
    assert (await elsewhere.log_in(asha.name.upper())).status == 303


async def test_who_is_no_operator_or_has_no_password_hears_the_same_as_who_mistypes_it(office: Office) -> None:
    known, bare = await office.hire("asha"), await office.hire("juma")
    async with office.service.database.begin() as tx:
        await tx.execute("UPDATE operators SET password_hash = NULL WHERE name = $1", bare.name)
    said = [await known.log_in(password="wrong"), await bare.log_in(), await known.log_in("nobody\0\x07")]
    assert [each.status for each in said] == [400, 400, 400]
    assert all("The name or the password is not right." in each.words for each in said)


async def test_a_log_in_leads_only_to_our_own_pages(office: Office) -> None:
    asha = await office.hire("asha")
    for next_, to in (
        ("/operator/ledger", "/operator/ledger"),
        ("//evil.example", "/operator"),
        ("/dashboard", "/operator"),
    ):
        fields = {"name": asha.name, "password": PASSWORD, "next": next_}
        assert (await asha.surfer.post("/operator/login", fields)).to == to


async def test_a_payment_is_looked_up_by_reference_and_what_is_none_is_not_found(office: Office) -> None:
    asha = await office.operator("asha")
    made = (await office.service.initiate(order(office.merchant.id, PAYOUT, 1000))).transaction
    sent_to = (await asha.surfer.get(f"/operator/cases?payment=%20{made.reference}")).to
    seen = await asha.surfer.get(sent_to)
    assert (seen.status, "nothing was sent" in seen.words) == (200, True)
    assert "/propose" not in seen.text
    for path in ("?payment=../x", "/txn_nothing", "/%00", "/" + "x" * 65):
        assert (await asha.surfer.get(f"/operator/cases{path}")).status == 404
    assert (await asha.surfer.get("/operator/cases?payment=%20")).to == "/operator"


async def test_the_book_is_checked_on_demand_and_that_is_noted(office: Office) -> None:
    asha = await office.operator("asha")
    wrong = "UPDATE wallets SET available = available + $2 WHERE merchant_id = $1"
    async with office.service.database.begin() as tx:
        await tx.execute(wrong, office.merchant.id, 7)
    try:
        seen = await asha.surfer.post("/operator/ledger")
    finally:
        async with office.service.database.begin() as tx:
            await tx.execute(wrong, office.merchant.id, -7)
    assert seen.status == 200
    assert f"{office.merchant.id} wallet 10,007 10,000" in seen.words
    assert office.merchant.id not in (await asha.surfer.post("/operator/ledger")).words
    async with office.service.database.read() as connection:
        deeds = await trail.find(connection, limit=20)
    mine = [each for each in deeds if each.who == f"operator {asha.name}" and each.what == "ledger.checked"]
    assert [each.details["findings"] > 0 for each in mine][-1]
    assert len(mine) == 2


async def test_a_network_that_is_down_takes_down_what_it_carries_and_nothing_else(office: Office) -> None:
    down = Down(clock.now(), "timeout", 3, is_due=False)
    networks = Networks(
        connectors={},
        routes={(Channel.MPESA, PAYOUT): "mpesa", (Channel.HALOPESA, PAYOUT): "clickpesa"},
        gates={},
        reach={},
    )
    rows = {(each.channel, each.type): each for each in rows_of(networks, {"clickpesa": down})}
    assert len(rows) == 8
    assert [key for key, each in rows.items() if each.trouble] == [(Channel.HALOPESA, PAYOUT)]
    assert [key for key, each in rows.items() if each.carrier] == [(Channel.MPESA, PAYOUT), (Channel.HALOPESA, PAYOUT)]
    asha = await office.operator("asha")
    assert (await asha.surfer.get("/operator/networks")).words.count("Not connected") == 8
