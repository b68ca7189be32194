"""Who may see and do what, page by page, against a table written by hand; and that nobody sees another merchant's.

Every form is sent with a token that is not its own. Whoever may not is told so before it is looked at; whoever may is
told that the form is forged. So nothing is done here, and every form is seen to check its token.
"""

import itertools
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.dashboard.merchant.routes import PAGES
from malipo.db import Database
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys, sessions
from malipo.payments.transaction import Type
from malipo.webhooks.store import delivery_queue, endpoints
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.merchant.batches.batch_pages import make_draft
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.invoices.sample import store_invoice
from tests.journeys.concurrency import order
from tests.links.link_steps import LinkSteps
from tests.payments.batches.batch_steps import BatchSteps
from tests.settlement.settlement_steps import SettlementSteps

# e: everybody, logged in or not; c: whoever has typed a password and no code yet; v, s, o: viewers, staff, owners.
TABLE = """
GET   /dashboard/login                                              e
POST  /dashboard/login                                              e
GET   /dashboard/login/code                                         c
POST  /dashboard/login/code                                         c
GET   /dashboard/password                                           e
POST  /dashboard/password                                           e
GET   /dashboard/stop                                               e
POST  /dashboard/stop                                               e
POST  /dashboard/language                                           e
POST  /dashboard/logout                                             v s o
GET   /dashboard/confirm                                            v s o
POST  /dashboard/confirm                                            v s o
GET   /dashboard/live                                               v s o
GET   /dashboard                                                    v s o
GET   /dashboard/transactions                                       v s o
GET   /dashboard/transactions.csv                                   v s o
GET   /dashboard/transactions.xlsx                                  v s o
GET   /dashboard/transactions/{transaction}                         v s o
GET   /dashboard/transactions/{transaction}/cancel                    s o
POST  /dashboard/transactions/{transaction}/cancel                    s o
GET   /dashboard/transactions/{transaction}/refund                    s o
POST  /dashboard/transactions/{transaction}/refund                    s o
GET   /dashboard/batches                                            v s o
GET   /dashboard/batches/new                                          s o
POST  /dashboard/batches/new                                          s o
GET   /dashboard/batches/sample.csv                                 v s o
GET   /dashboard/batches/drafts/{draft}                               s o
POST  /dashboard/batches/drafts/{draft}                               s o
POST  /dashboard/batches/drafts/{draft}/columns                       s o
POST  /dashboard/batches/drafts/{draft}/submit                        s o
POST  /dashboard/batches/drafts/{draft}/discard                       s o
GET   /dashboard/batches/{batch}                                    v s o
GET   /dashboard/batches/{batch}/result.csv                         v s o
GET   /dashboard/batches/{batch}/approve                                o
POST  /dashboard/batches/{batch}/approve                                o
GET   /dashboard/batches/{batch}/cancel                               s o
POST  /dashboard/batches/{batch}/cancel                               s o
POST  /dashboard/batches/{batch}/again                                s o
GET   /dashboard/links                                              v s o
POST  /dashboard/links                                                s o
GET   /dashboard/links/{link}                                       v s o
GET   /dashboard/links/{link}/cancel                                  s o
POST  /dashboard/links/{link}/cancel                                  s o
GET   /dashboard/wallet                                             v s o
GET   /dashboard/wallet.csv                                         v s o
GET   /dashboard/wallet.xlsx                                        v s o
GET   /dashboard/wallet/print                                       v s o
GET   /dashboard/settlements                                        v s o
GET   /dashboard/settlements/new                                      s o
POST  /dashboard/settlements/new                                      s o
GET   /dashboard/settlements/schedule                                   o
POST  /dashboard/settlements/schedule                                   o
GET   /dashboard/settlements/{settlement}                           v s o
GET   /dashboard/settlements/{settlement}/report.csv                v s o
GET   /dashboard/settlements/{settlement}/report.xlsx               v s o
GET   /dashboard/settlements/{settlement}/cancel                      s o
POST  /dashboard/settlements/{settlement}/cancel                      s o
GET   /dashboard/bank-accounts                                      v s o
GET   /dashboard/bank-accounts/new                                      o
POST  /dashboard/bank-accounts/new                                      o
GET   /dashboard/bank-accounts/{bank_account}/stop                      o
POST  /dashboard/bank-accounts/{bank_account}/stop                      o
POST  /dashboard/bank-accounts/{bank_account}/confirm                   o
GET   /dashboard/invoices                                           v s o
GET   /dashboard/invoices.csv                                       v s o
GET   /dashboard/invoices/{invoice}                                 v s o
GET   /dashboard/invoices/{invoice}/pdf                             v s o
GET   /dashboard/collect                                              s o
POST  /dashboard/collect                                              s o
GET   /dashboard/payout                                               s o
POST  /dashboard/payout                                               s o
POST  /dashboard/payout/recipient                                     s o
GET   /dashboard/keys                                               v s o
POST  /dashboard/keys                                                   o
GET   /dashboard/keys/new                                               o
GET   /dashboard/keys/{key}/edit                                        o
POST  /dashboard/keys/{key}/edit                                        o
GET   /dashboard/keys/{key}/revoke                                      o
POST  /dashboard/keys/{key}/revoke                                      o
GET   /dashboard/webhooks                                           v s o
POST  /dashboard/webhooks                                             s o
GET   /dashboard/webhooks/new                                         s o
GET   /dashboard/webhooks/{endpoint}                                v s o
GET   /dashboard/webhooks/{endpoint}/edit                             s o
POST  /dashboard/webhooks/{endpoint}/edit                             s o
POST  /dashboard/webhooks/{endpoint}/pause                            s o
POST  /dashboard/webhooks/{endpoint}/resume                           s o
GET   /dashboard/webhooks/{endpoint}/rotate                           s o
POST  /dashboard/webhooks/{endpoint}/rotate                           s o
GET   /dashboard/webhooks/{endpoint}/finish                           s o
POST  /dashboard/webhooks/{endpoint}/finish                           s o
GET   /dashboard/webhooks/{endpoint}/delete                           s o
POST  /dashboard/webhooks/{endpoint}/delete                           s o
POST  /dashboard/webhooks/{endpoint}/test                             s o
GET   /dashboard/webhooks/{endpoint}/recover                          s o
POST  /dashboard/webhooks/{endpoint}/recover                          s o
GET   /dashboard/webhooks/{endpoint}/deliveries/{delivery}          v s o
POST  /dashboard/webhooks/{endpoint}/deliveries/{delivery}/redeliver  s o
GET   /dashboard/settings                                           v s o
POST  /dashboard/settings/password                                  v s o
GET   /dashboard/settings/messages                                  v s o
POST  /dashboard/settings/messages                                  v s o
POST  /dashboard/settings/sessions/end                              v s o
POST  /dashboard/settings/sessions/{session}/end                    v s o
POST  /dashboard/settings/browsers/{browser}/end                    v s o
POST  /dashboard/new-places/{place}/read                            v s o
GET   /dashboard/settings/second-factor                             v s o
POST  /dashboard/settings/second-factor                             v s o
GET   /dashboard/settings/second-factor/codes                       v s o
POST  /dashboard/settings/second-factor/codes                       v s o
GET   /dashboard/settings/second-factor/remove                      v s o
POST  /dashboard/settings/second-factor/remove                      v s o
POST  /dashboard/settings/people/second-factor                          o
POST  /dashboard/settings/people/{person}/second-factor                 o
GET   /dashboard/settings/activity                                      o
GET   /dashboard/settings/profile                                       o
POST  /dashboard/settings/profile                                       o
POST  /dashboard/settings/profile/logo                                  o
POST  /dashboard/settings/profile/logo/remove                           o
GET   /dashboard/settings/payments                                      o
POST  /dashboard/settings/payments/idempotency-key                      o
GET   /dashboard/settings/approval                                      o
POST  /dashboard/settings/approval                                      o
POST  /dashboard/settings/approval/confirm                              o
POST  /dashboard/settings/vouch                                         o
POST  /dashboard/settings/people/{person}/approval                      o
GET   /dashboard/settings/people                                        o
POST  /dashboard/settings/people                                        o
GET   /dashboard/settings/people/new                                    o
GET   /dashboard/settings/people/{person}                               o
POST  /dashboard/settings/people/{person}/role                          o
POST  /dashboard/settings/people/{person}/link                          o
POST  /dashboard/settings/people/{person}/mail                          o
GET   /dashboard/settings/people/{person}/remove                        o
POST  /dashboard/settings/people/{person}/remove                        o
"""
ROWS = [line.split(maxsplit=2) for line in TABLE.strip().splitlines()]
_numbers = itertools.count(1)


@dataclass
class Shop:
    merchant: Merchant
    emails: dict[Role, str]
    names: dict[str, str]
    drafts: dict[Role, str]  # Each sees only their own.

    def path(self, path: str, role: Role = Role.OWNER) -> str:
        return path.format(**self.names, draft=self.drafts.get(role, "drf_of_nobody"))


@pytest.fixture(scope="module")
async def shop(running: Running, database: Database, service: Service) -> Shop:
    return await _open_shop(running, database, service)


@pytest.fixture(scope="module")
async def rival(running: Running, database: Database, service: Service) -> Shop:
    return await _open_shop(running, database, service)


async def _open_shop(running: Running, database: Database, service: Service) -> Shop:
    """A merchant with one of everything that a page can be about."""
    merchant = await make_merchant(database, wallet=100_000)
    emails = {role: f"{role}+{secrets.token_hex(6)}@example.com" for role in Role}
    people = {role: await add_person(database, merchant.id, email, role) for role, email in emails.items()}
    made = await service.payments.initiate(order(merchant.id, Type.COLLECTION, 1000))
    shop = Shop(merchant, emails, {"transaction": made.transaction.id, "person": people[Role.VIEWER].id}, {})
    shop.names["link"] = (await LinkSteps(service, merchant.id).make()).id
    shop.names["batch"] = (await BatchSteps(service, merchant.id).make(2)).id
    steps = await SettlementSteps.of(service, database, merchant.id)
    shop.names |= {"settlement": (await steps.requested(1000)).id, "bank_account": steps.account.id}
    for role in (Role.STAFF, Role.OWNER):
        shop.drafts[role] = await make_draft(database, merchant.id, emails[role])
    async with logged_in(running, shop, Role.OWNER) as owner:
        fields = [("url", "https://41.59.1.20/hook"), ("events", "payment.failed")]
        assert (await owner.post("/dashboard/webhooks", fields)).status == 201
    event_id = ids.mint("evt_", clock.now())
    async with database.begin() as tx:
        (endpoint,) = await endpoints.find_all(tx, merchant.id)
        new = delivery_queue.NewDelivery(endpoint.id, event_id, merchant.id, "payment.failed")
        await delivery_queue.insert(tx, [new], lease_seconds=60, now=clock.now())
        (key,) = await api_keys.find_all(tx, merchant.id)
        shop.names["invoice"] = (await store_invoice(tx, merchant.id)).number
        (session,) = await sessions.find_sessions(tx, people[Role.OWNER].id, now=clock.now(), most=10)
    shop.names |= {"endpoint": endpoint.id, "delivery": event_id, "key": key.id, "session": session.id}
    shop.names |= {"browser": "brw_of_nobody", "place": "ses_of_nobody"}
    return shop


@asynccontextmanager
async def logged_in(running: Running, shop: Shop, role: Role) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.44.0.{next(_numbers)}") as surfer:
        assert (await surfer.log_in(shop.emails[role])).status == 303
        yield surfer


async def ask(surfer: Surfer, method: str, path: str, *, token: str | None = None) -> Seen:
    if path == "/dashboard/live":  # It never ends; that it begins is enough.
        async with surfer.http.get(surfer.url + path, headers=surfer.headers, allow_redirects=False) as answer:
            text = "" if answer.status == 200 else await answer.text()
            return Seen(answer.status, text, answer.headers)
    return await surfer.get(path) if method == "GET" else await surfer.post(path, token=token)


def test_every_page_stands_in_the_table() -> None:
    def unnamed(path: str) -> str:
        return re.sub(r"{\w+}", "{}", path)

    table = [(method, unnamed(path)) for method, path, _ in ROWS]
    assert sorted(table) == sorted((page.method, unnamed(page.path)) for page in PAGES)


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_is_let_in_where_the_table_says(running: Running, shop: Shop, role: Role) -> None:
    wrong = []
    async with logged_in(running, shop, role) as surfer:
        for method, path, who in ROWS:
            if who in ("e", "c"):
                continue
            seen = await ask(surfer, method, shop.path(path, role), token="0" * 64)
            is_refused = seen.status == 403 and "Your role does not allow this." in seen.words
            is_let_in = (
                seen.status == 403 and "This form was not sent from here" in seen.words
                if method == "POST"
                else seen.status == 200 or (seen.status == 303 and not seen.to.startswith("/dashboard/login"))
            )
            if (is_let_in, is_refused) != (role[0] in who, role[0] not in who):
                wrong.append((method, path, seen.status))
    assert wrong == []


async def test_nobody_is_sent_to_the_log_in(running: Running, shop: Shop) -> None:
    wrong = []
    async with surfing(running.url, seen_from="10.44.1.1") as nobody:
        for method, path, who in ROWS:
            seen = await ask(nobody, method, shop.path(path))
            is_sent_away = seen.status == 303 and seen.to.startswith("/dashboard/login")
            if is_sent_away != (who != "e"):
                wrong.append((method, path, seen.status))
    assert wrong == []


async def test_another_merchants_ids_lead_nowhere(running: Running, shop: Shop, rival: Shop) -> None:
    wrong = []
    async with logged_in(running, rival, Role.OWNER) as stranger:
        for method, path, _ in ROWS:
            if "{" not in path or path.startswith("/dashboard/new-places/"):  # A message may be read twice.
                continue
            seen = await ask(stranger, method, shop.path(path))
            if seen.status != 404:
                wrong.append((method, path, seen.status))
        for method in ("GET", "POST"):
            # One's own endpoint with another's delivery.
            path = f"/dashboard/webhooks/{rival.names['endpoint']}/deliveries/{shop.names['delivery']}"
            seen = await ask(stranger, method, path + ("/redeliver" if method == "POST" else ""))
            assert seen.status == 404
    assert wrong == []


async def test_what_cannot_be_an_id_leads_nowhere(running: Running, shop: Shop) -> None:
    wrong = []
    async with logged_in(running, shop, Role.OWNER) as owner:
        for method, path, _ in ROWS:
            for nonsense in ("%00", "%FF", "x" * 3000, "'%3B--"):
                seen = await ask(owner, method, re.sub(r"{\w+}", nonsense, path)) if "{" in path else None
                if seen is not None and seen.status != 404:
                    wrong.append((method, path, nonsense[:9], seen.status))
    assert wrong == []
