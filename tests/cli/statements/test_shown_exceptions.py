"""The facts of a proposal about an exception that an approver sees at the command line."""

from malipo.cli.shown_proposals import find_shown
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.store import resolutions
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, a_stranger, desk
from tests.reconciliation.statement_days import Statements, statements

__all__ = ["desk", "statements", "steps"]


async def test_the_words_of_the_proposer_do_not_take_the_place_of_the_lines(
    statements: Statements, desk: ExceptionDesk
) -> None:
    found = await a_stranger(statements, 9_000_000, phone="255754999999")
    said = {"account": "losses", "phone": "the bank's own number", "channel": "TIGO_PESA"}
    await desk.propose(found, Action.BOOK, said)
    async with statements.database.snapshot() as connection:
        proposal = await resolutions.find_proposal(connection, found.id)
        assert proposal is not None
        shown = await find_shown(connection, proposal, Settings(**NO_LIMITS))
    assert (shown.terms["phone"], shown.terms["channel"]) == ("255754999999", "MPESA")
    assert shown.terms["proposed phone"] == "the bank's own number"
