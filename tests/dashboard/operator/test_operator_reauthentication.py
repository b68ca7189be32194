"""An operator's cookie approves nothing without the password."""

import re
import secrets

import pytest

from malipo.accounts.reauthentication import SensitiveAct
from malipo.dashboard.operator.routes import PAGES
from malipo.payments.transaction import Status
from tests.approvals.grid import GRID
from tests.authenticator_app import enrolled
from tests.dashboard.operator.operator_pages import Operator, OperatorPages, proposal_on, seen_on
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.page_client import PASSWORD, Seen

# Which pages are which act, written by hand.
ACTS = {
    ("POST", "/operator/cases/{payment}/propose"): SensitiveAct.APPROVAL,
    ("POST", "/operator/cases/{payment}/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/cases/{payment}/cancel"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bookings/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/restore/release"): SensitiveAct.APPROVAL,
    ("POST", "/operator/restore/end-hold"): SensitiveAct.APPROVAL,
    ("POST", "/operator/settlements/release"): SensitiveAct.APPROVAL,
    ("POST", "/operator/settlements/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/settlements/{id}/cancel"): SensitiveAct.APPROVAL,
    ("POST", "/operator/settlements/{id}/collect"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank-accounts/{id}/verify"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank-accounts/{id}/reject"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank-accounts/{id}/stop"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/files/gather"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/files/{file}/void"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/files/{file}/refuse"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/statements/new/{bank_upload}/import"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/statements/{bank_statement}/withdraw"): SensitiveAct.APPROVAL,
    ("POST", "/operator/bank/exceptions/{bank_exception}/decide"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/new/{upload}/layout"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/new/{upload}/words"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/new/{upload}/import"): SensitiveAct.APPROVAL,
    ("POST", "/operator/floats/read"): SensitiveAct.APPROVAL,
    ("POST", "/operator/floats/transfer"): SensitiveAct.APPROVAL,
    ("POST", "/operator/books/suspense/release"): SensitiveAct.APPROVAL,
    ("POST", "/operator/books/suspense/take-back"): SensitiveAct.APPROVAL,
    ("POST", "/operator/floats/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/{id}/propose"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/{id}/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/{id}/approve-import"): SensitiveAct.APPROVAL,
    ("POST", "/operator/statements/{id}/reject-import"): SensitiveAct.APPROVAL,
    ("POST", "/operator/exceptions/propose"): SensitiveAct.APPROVAL,
    ("POST", "/operator/exceptions/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/exceptions/{id}/undo"): SensitiveAct.APPROVAL,
    ("POST", "/operator/close/{day}/close"): SensitiveAct.APPROVAL,
    ("POST", "/operator/close/{day}/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/vouch"): SensitiveAct.APPROVAL,
    ("POST", "/operator/cases/chosen/propose"): SensitiveAct.APPROVAL,
    ("POST", "/operator/cases/chosen/approve"): SensitiveAct.APPROVAL,
    ("POST", "/operator/operators/approve"): SensitiveAct.PEOPLE,
    ("POST", "/operator/account/address"): SensitiveAct.ADDRESS,
    ("POST", "/operator/account/second-factor"): SensitiveAct.SECOND_FACTOR,
    ("POST", "/operator/account/second-factor/codes"): SensitiveAct.SECOND_FACTOR,
}

# The others are forms of the grid of acts, which tries each of them with an old session and with a trusted browser.
_IN_GRID = {form for row in GRID.values() for form in (*row.pages.begins, *row.pages.approves)}
OTHERS = [path for _, path in ACTS if path not in _IN_GRID]


async def later(operator_pages: OperatorPages, operator: Operator, interval: str, column: str = "confirmed_at") -> None:
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute(
            f"UPDATE operator_sessions SET {column} = {column} - interval '{interval}' "
            "WHERE operator_id = (SELECT id FROM operators WHERE name = $1)",
            operator.name,
        )


def asks(seen: Seen) -> bool:
    return "Confirm that it is you" in seen.words and 'name="confirm_password"' in seen.text


def test_the_acts_are_those_of_the_table() -> None:
    assert {(page.method, page.path): page.act for page in PAGES if page.act is not None} == ACTS


async def test_a_stolen_cookie_approves_nothing(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    payout = await operator_pages.late()
    await asha.propose(payout, "failed")
    proposal = proposal_on(await juma.look(payout))
    await later(operator_pages, juma, "11 minutes")
    seen = await juma.decide("approve", payout, proposal)
    assert (seen.status, asks(seen)) == (403, True)
    assert f'name="proposal" value="{proposal}"' in seen.text
    assert await operator_pages.status(payout) is Status.PROCESSING

    path = f"/operator/cases/{payout.reference}/approve"
    fields = {"proposal": proposal, "seen": seen_on(await juma.look(payout))}
    wrong = await juma.surfer.post(path, fields | {"confirm_password": "not this one"})
    assert (wrong.status, asks(wrong)) == (400, True)
    assert await operator_pages.status(payout) is Status.PROCESSING
    done = await juma.surfer.post(path, fields | {"confirm_password": PASSWORD})
    assert done.status == 303
    assert await operator_pages.status(payout) is Status.FAILED


@pytest.mark.parametrize("path", OTHERS)
async def test_nor_does_it_do_any_other_act(operator_pages: OperatorPages, path: str) -> None:
    juma = await operator_pages.operator("juma")
    await later(operator_pages, juma, "11 minutes")
    fields = {"booking": f"bkp_{secrets.token_hex(8)}", "evidence": "x"}
    seen = await juma.surfer.post(re.sub(r"{\w+}", "txn_1", path), fields)
    assert (seen.status, asks(seen)) == (403, True)


@pytest.mark.parametrize("path", OTHERS)
async def test_nor_does_a_log_in_without_a_code_in_a_trusted_browser(operator_pages: OperatorPages, path: str) -> None:
    juma = await operator_pages.hire("juma")
    async with operator_pages.service.queries.database.read() as connection:
        account_id = await connection.fetchval("SELECT id FROM operators WHERE name = $1", juma.name)
    app = await enrolled(operator_pages.service.queries.database, account_id)
    await juma.log_in()
    assert (await juma.surfer.post("/operator/login/code", {"code": app.code(), "trust": "yes"})).to == "/operator"
    await juma.surfer.post("/operator/logout")
    assert (await juma.log_in()).to == "/operator", "the password alone"
    seen = await juma.surfer.post(re.sub(r"{\w+}", "txn_1", path), {"evidence": "x"})
    assert (seen.status, asks(seen), 'name="confirm_code"' in seen.text) == (403, True, True)


async def test_an_operator_is_asked_on_the_way_to_any_page_after_a_long_time(operator_pages: OperatorPages) -> None:
    juma = await operator_pages.operator("juma")
    await later(operator_pages, juma, "13 hours", "last_used_at")
    sent = await juma.surfer.get("/operator/networks")
    assert (sent.status, sent.to) == (303, "/operator/confirm?next=/operator/networks")
    assert asks(await juma.surfer.get(sent.to))
    fields = {"next": "/operator/networks", "confirm_password": PASSWORD}
    assert (await juma.surfer.post("/operator/confirm", fields)).to == "/operator/networks"
    assert (await juma.surfer.get("/operator/networks")).status == 200


async def test_wrong_passwords_count_as_attempts_to_log_in(operator_pages: OperatorPages) -> None:
    juma = await operator_pages.operator("juma")
    for _ in range(5):
        assert (await juma.surfer.post("/operator/confirm", {"confirm_password": "not this one"})).status == 400
    assert (await juma.surfer.post("/operator/confirm", {"confirm_password": PASSWORD})).status == 429
    assert (await juma.log_in()).status == 429
