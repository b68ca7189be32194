"""/operator/exceptions/…: the page can do everything that the command can, and offers no act that would be refused."""

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo import clock, ids
from malipo.dashboard.operator.reconciliation.exception_effects import may_be_adopted
from malipo.networks.connector import Type
from malipo.payments.transaction import Status, Transaction
from malipo.reconciliation.matching.exception import ExceptionKind, FoundException, Suggestion
from malipo.reconciliation.matching.store import exceptions
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.operator.test_operator_corrections import Room
from tests.dashboard.operator.test_operator_corrections import room as room
from tests.dashboard.page_client import Seen
from tests.reconciliation.test_action_moves import an_exception

PATH = "/operator/exceptions"
REASON = "Support of the network says so, ticket 4711"
WAIVE, DESPITE = "It need not be given back", "I know that the network has it and has not decided"


async def _differs(room: Room, payment: Transaction) -> str:
    """The page of an exception: statements and we say something else of the payment."""
    now = clock.now()
    found = FoundException(
        id=ids.mint("exc_", now),
        kind=ExceptionKind.OURS_ONLY,
        channel=payment.channel,
        merchant_id=payment.merchant_id,
        transaction_id=payment.id,
        amount=-payment.amount,
    )
    async with room.service.queries.database.begin() as tx:
        await exceptions.insert(tx, [found], now=now)
    return f"{PATH}/{found.id}"


def _fields(seen: Seen) -> list[tuple[str, str]]:
    return list(dict.fromkeys(re.findall(r'name="(exception|seen|shown|code)" value="([^"]+)"', seen.text)))


def _form(seen: Seen, choice: str, **ticked: str) -> list[tuple[str, str]]:
    return [*_fields(seen), ("choice", choice), ("reason", REASON), *ticked.items()]


async def test_what_is_owed_is_waived_on_the_page_too_and_shown_to_both(room: Room) -> None:
    asha, juma = await room.operator("asha"), await room.operator("juma")
    path = await _differs(room, await room.steps.contradicted(Type.DISBURSEMENT, Status.FAILED))
    before = await room.available()
    page = await asha.surfer.get(path)
    assert (WAIVE in page.words, DESPITE in page.words) == (True, False)
    look = await asha.surfer.post(f"{PATH}/propose", _form(page, "resolve:completed", waive="yes"))
    assert (look.status, "Written off" in look.words) == (200, True)
    assert '<input type="hidden" name="waive" value="yes">' in look.text
    done = await asha.surfer.post(f"{PATH}/propose", _form(look, "resolve:completed", waive="yes"))
    assert done.to == path
    approver = await juma.surfer.get(path)
    assert "What is still owed need not be given back: it is written off." in approver.words
    assert (await juma.surfer.post(f"{PATH}/approve", _fields(approver))).to == path
    assert await room.available() == before, "nothing is taken"


async def test_a_payout_that_waits_is_called_failed_on_the_page_only_with_the_box_ticked(room: Room) -> None:
    asha, juma = await room.operator("asha"), await room.operator("juma")
    payout = await room.steps.processing(Type.DISBURSEMENT)
    path = await _differs(room, payout)
    page = await asha.surfer.get(path)
    assert (WAIVE in page.words, DESPITE in page.words) == (False, True)
    assert (await asha.surfer.post(f"{PATH}/propose", _form(page, "resolve:failed"))).status == 409
    look = await asha.surfer.post(f"{PATH}/propose", _form(page, "resolve:failed", despite_waiting="yes"))
    assert "It may still be paid." in look.words
    done = await asha.surfer.post(f"{PATH}/propose", _form(look, "resolve:failed", despite_waiting="yes"))
    assert done.to == path
    approver = await juma.surfer.get(path)
    assert "although the network has it and has not decided" in approver.words
    assert (await juma.surfer.post(f"{PATH}/approve", _fields(approver))).to == path
    assert await room.status(payout) is Status.FAILED


@pytest.mark.parametrize(
    ("cents", "why", "expected"),
    [
        (0, None, True),
        (0, "phone", True),
        (0, "day", True),
        (0, "key", False),
        (0, "receipt", False),
        (40, None, False),
    ],
)
def test_adopting_is_not_offered_where_it_can_only_be_refused(cents: int, why: str | None, expected: bool) -> None:
    line = replace(an_exception("theirs_only", 500), line_cents=cents)
    suggested = Suggestion(
        merchant_id="mrc_1",
        transaction_id="txn_1",
        reference="MLP-1",
        type=Type.COLLECTION,
        status="COMPLETED",
        amount=500,
        phone="",
        created_at=clock.now() - timedelta(minutes=1),
        why=why or "",
    )
    assert may_be_adopted(line, [suggested] if why else []) is expected


def test_adopting_a_reversal_is_not_offered_if_it_names_what_it_takes_back() -> None:
    said = replace(an_exception("unknown_line", 500), line_kind="reversal")
    assert may_be_adopted(said, [])
    assert not may_be_adopted(replace(said, linked="QK0"), [])
