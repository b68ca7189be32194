"""Payments that an operator must look at: all of them, and one with everything that was heard of it."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import Response

from malipo.dashboard import draw
from malipo.dashboard.operator import outcomes
from malipo.dashboard.operator.visit import OperatorVisit
from malipo.dashboard.operator.why import SENTENCES
from malipo.db import Conn, Tx
from malipo.ledger.entry import Wallet
from malipo.ledger.store import wallets
from malipo.merchants.store import merchants
from malipo.networks import store as networks
from malipo.networks.catalog import PROFILES
from malipo.payments import why
from malipo.payments.resolve import NoSuchCase
from malipo.payments.store import cases, hearings
from malipo.payments.store.cases import Case, Proposal
from malipo.payments.store.hearings import Hearing
from malipo.payments.transaction import Status, Type

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_SHOWN = 200


class Row(NamedTuple):
    case: Case
    merchant: str
    why: str
    minutes: int
    is_open: bool  # somebody has to do something about it


class Dossier(NamedTuple):
    """Everything that is known of one case."""

    case: Case
    proposal: Proposal | None
    heard: list[Hearing]
    merchant: str
    wallet: Wallet


async def show_all(visit: OperatorVisit) -> Response:
    async def find(connection: Conn) -> tuple[list[Case], Mapping[str, str], int]:
        seconds = visit.service.settings.unsettled_seconds
        found = await cases.find_unsettled(connection, unsettled_seconds=seconds)
        found += await cases.find_contradicted(connection)
        names = {each.id: each.name for each in await merchants.find_all(connection)} if found else {}
        down = set(await networks.find_down(connection)) & set(visit.service.networks.routes.values())
        return found, names, len(down)

    found, names, down = await visit.service.read_snapshot(find)
    return draw.page(
        visit,
        "operator/cases.html",
        rows=[_row(visit, case, names[case.transaction.merchant_id]) for case in found[:_MOST_SHOWN]],
        number=len(found),
        amount=sum(case.transaction.amount for case in found),
        proposed=sum(case.proposed is not None for case in found),
        owed=sum(case.correction.owed for case in found if case.correction is not None),
        down=down,
    )


def _row(visit: OperatorVisit, case: Case, merchant: str) -> Row:
    now = visit.service.clock()
    reason = why.reason(case, unsettled_seconds=visit.service.settings.unsettled_seconds, now=now)
    minutes = max(int((now - why.since(case)).total_seconds()) // 60, 0)
    return Row(case, merchant, visit.words(SENTENCES[reason]), minutes, reason != "none")


async def look_up(visit: OperatorVisit) -> Response:
    """From what somebody typed to its page."""
    name = visit.request.query_params.get("payment", "").strip()
    return visit.go(f"/operator/cases/{_possible(name)}" if name else "/operator")


async def show(visit: OperatorVisit) -> Response:
    return await page(visit)


async def page(
    visit: OperatorVisit,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    """One case; with what was wrong about a form, if something was."""
    case, proposal, heard, merchant, wallet = await visit.service.write(lambda tx: _read(tx, payment_in(visit)))
    is_stale = proposal is not None and case.proposed is None
    network = PROFILES[case.transaction.channel].name
    is_pending = case.transaction.status is Status.PENDING
    # The database was restored: what it calls PENDING may have left before.
    may_be_sent = is_pending and case.dispatch is not None and case.dispatch.is_asked_first
    shown: dict[str, Any] = {
        "row": _row(visit, case, merchant),
        "case": case,
        "transaction": case.transaction,
        "is_payout": case.transaction.type is Type.DISBURSEMENT,
        "network": network,
        "wallet": wallet,
        "choices": outcomes.choices_of(visit.words, case, wallet, network) if case.transaction.status.is_final else [],
        "said": outcomes.said_of(case),
        "proposed_value": None if proposal is None else outcomes.value_of(proposal),
        "is_waiting": outcomes.is_waiting(case),
        "may_cancel": is_pending and not case.is_merchant_active and not may_be_sent,
        "may_be_sent": may_be_sent,
        "proposal": None if is_stale else proposal,
        "is_stale": is_stale,
        "is_mine": proposal is not None and proposal.proposed_by == visit.actor.who,
        "heard": heard[::-1],
    }
    return draw.page(
        visit,
        "operator/case.html",
        status=status,
        problem=problem,
        values=values or {},
        errors=errors or {},
        **shown,
    )


async def _read(tx: Tx, payment: str) -> Dossier:
    case = await cases.lock(tx, payment)
    if case is None:
        raise NoSuchCase(payment)
    transaction = case.transaction
    names = {each.id: each.name for each in await merchants.find_all(tx)}
    heard = await hearings.find(tx, transaction.merchant_id, transaction.id)
    wallet, _ = await wallets.get(tx, transaction.merchant_id)
    return Dossier(case, await cases.find_proposal(tx, transaction), heard, names[transaction.merchant_id], wallet)


def payment_in(visit: OperatorVisit) -> str:
    return _possible(visit.request.path_params["payment"])


def _possible(name: str) -> str:
    """What cannot be an id or a reference need not be looked for."""
    if not _NAME.fullmatch(name):
        raise NoSuchCase(name)
    return name
