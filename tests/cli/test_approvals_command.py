"""One command lists all that waits for a second operator, and says where each is approved."""

import re

import pytest

from malipo import clock
from malipo.approvals.act_rules import ACTS, Act, Two
from malipo.approvals.store import Proposal
from malipo.dashboard.operator.proposal_pages import page_of
from malipo.dashboard.operator.routes import PAGES
from tests.cli.test_wallet_command import LARGE, Terminal
from tests.cli.test_wallet_command import terminal as terminal


async def test_a_proposal_is_listed_until_it_is_decided(terminal: Terminal) -> None:
    assert (await terminal("approvals")).out == "Nothing waits for a second operator.\n"
    await terminal.json_of("wallet", "top-up", "Duka", LARGE, "--reference", "NMB 7", by="asha")
    await terminal.json_of("floats", "transfer", "MPESA", LARGE, "--to-bank", "--reference", "NMB 8", by="juma")

    first, second = await terminal.json_of("approvals")
    assert (first["act"], first["about"], first["amount"]) == ("top_up", "NMB 7", 2_500_000)
    assert (first["proposed by"], first["approved at"]) == ("operator asha", "/operator/bookings")
    assert (second["act"], second["about"], second["proposed by"]) == ("transfer", "NMB 8", "operator juma")

    await terminal.json_of("wallet", "approve", first["id"], "--here", by="juma")
    await terminal.json_of("floats", "reject", second["id"], by="asha")
    assert await terminal.json_of("approvals") == []


@pytest.mark.parametrize("act", [act for act, rule in ACTS.items() if rule.two is not Two.NEVER])
@pytest.mark.parametrize("subject", ["txn_1", "exc_1", "stf_1", "2026-11-02"])
def test_each_kind_of_proposal_names_an_existing_page_for_its_approval(act: Act, subject: str) -> None:
    proposal = Proposal(
        id="prp_1",
        action=act,
        subject=subject,
        amount=1,
        terms='{"file_id": "stf_1"}',
        requested_by="operator asha",
        requested_at=clock.now(),
    )
    patterns = [re.sub(r"\{\w+\}", "[^/]+", page.path) for page in PAGES if page.method == "GET"]
    assert any(re.fullmatch(each, page_of(proposal)) for each in patterns)
