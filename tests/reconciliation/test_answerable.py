"""The operators who answer for a waiting list: none of them can be its second operator. Pure."""

from datetime import UTC, date, datetime

from malipo.approvals.act_rules import Act
from malipo.approvals.store import Proposal
from malipo.reconciliation.matching.import_approval import WaitingList
from malipo.reconciliation.matching.store.summed_lines import ChargeSum

FEES = ChargeSum(
    file_id="stf_1",
    channel="MPESA",
    account="",
    kind="fee",
    day=date(2026, 11, 18),
    cents=-800_000_000,
    imported_by="operator asha",
    lines=1,
    unconfirmed=8_000_000,
    authors=("operator neema",),
)


def held(*sums: ChargeSum, imported_by: str = "") -> WaitingList:
    """juma's file has the key of a line of asha's file, so the list was proposed as his; since then the line has gone."""
    proposal = Proposal(
        id="prp_1",
        action=Act.IMPORT,
        subject="stf_1",
        amount=8_000_000,
        requested_by="operator juma",
        requested_at=datetime(2026, 11, 18, tzinfo=UTC),
    )
    return WaitingList(proposal, [], list(sums), imported_by=imported_by)


def test_who_imported_fees_that_wait_and_who_said_how_they_are_read_answer_for_them() -> None:
    assert held(FEES).answerable == {"operator juma", "operator asha", "operator neema"}


def test_so_does_who_imported_the_file_whatever_is_left_of_the_list() -> None:
    assert held(imported_by="operator asha").answerable == {"operator juma", "operator asha"}


def test_the_worker_answers_for_nothing() -> None:
    assert held(imported_by="malipo").answerable == {"operator juma"}
