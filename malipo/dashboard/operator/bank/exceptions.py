"""Lines of the bank's statements: the latest with what each is, those without a place, and what operators decide about
one."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo import clock
from malipo.approvals.act_rules import BANK_LINES
from malipo.bank import decide_exception, match_bank_lines
from malipo.bank.decide_exception import BOOKED_TO, BankAction, Decided, LineTerms
from malipo.bank.line_decision import BookingFact
from malipo.bank.match_bank_lines import BankMatchingSummary
from malipo.bank.payer_account import PayerAccount
from malipo.bank.store import lines as store
from malipo.bank.store import payer_accounts
from malipo.bank.store.lines import BankException, ShownLine
from malipo.casework.subject import CaseworkSubject
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator import casework
from malipo.dashboard.operator.bank.our_accounts import PATH as BANK
from malipo.dashboard.operator.casework import OWNERS, Casework
from malipo.dashboard.operator.own_connection import write_apart
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.dashboard.urls import id_in
from malipo.db import Conn, Tx
from malipo.errors import Missing, Refusal
from malipo.merchants.store import merchants
from malipo.merchants.store.merchants import Merchant
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import settlements
from malipo.words.books import ACCOUNTS

PATH = f"{BANK}/exceptions"
_MOST = 100
_MOST_CANDIDATES = 20
_FILTERS = {"owner": OWNERS, "due": ("yes",)}  # of the list; anything else counts as no filter
_TYPED = ("action", "account", "settlements", "booking", "merchant", "key", "reason")
WHY_NO_PLACE = {
    "not_sent": "It has a key of ours that was not sent",
    "unknown_key": "It has a key like ours that nobody knows",
    "twice": "A second debit with one key",
    "other_amount": "Another amount than we sent",
    "other_account": "From another account of ours than its file says",
    "sum_differs": "A file as one sum, and not the sum of its transfers",
    "return_without_debit": "Money came back that had not gone out",
    "returned_twice": "It came back a second time",
    "which_return": "It was debited twice, and one debit came back: the merchant's, or ours",
    "booked_too": "It came back, and somebody has booked it by hand too",
    "unknown_debit": "A debit that nobody knows",
    "unknown_credit": "A credit that nobody knows",
}
SENTENCES = (WHY_NO_PLACE, ACCOUNTS)


class _Row(NamedTuple):
    exception: BankException
    is_overdue: bool


class _List(NamedTuple):
    exceptions: list[BankException]
    lines: list[ShownLine]
    accounts: list[PayerAccount]
    waiting: list[WaitingAct]


class _Page(NamedTuple):
    exception: BankException
    account: PayerAccount
    candidates: list[Settlement]  # with the line's amount, in a status that fits
    bookings: list[BookingFact]
    merchants: list[Merchant]
    waiting: list[WaitingAct]
    casework: Casework | None


async def show_all(request: OperatorRequest) -> Response:
    query, today = request.http.query_params, clock.day_of(request.parts.clock())
    typed = {name: query[name] for name, known in _FILTERS.items() if query.get(name) in known}

    async def find(connection: Conn) -> _List:
        return _List(
            await store.find_open_exceptions(connection),
            await store.find_shown(connection, limit=_MOST),
            await payer_accounts.find_all(connection),
            await find_waiting(connection, request, BANK_LINES),
        )

    found = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/bank/exceptions.html",
        rows=[
            _Row(each, is_overdue=each.due_on is not None and each.due_on < today)
            for each in found.exceptions
            if _fits(each, typed, me=request.owner.name, today=today)
        ],
        typed=typed,
        lines=found.lines,
        numbers={each.id: each.number for each in found.accounts},
        proposed={each.proposal.subject for each in found.waiting},
        why=WHY_NO_PLACE,
    )


def _fits(exception: BankException, typed: Mapping[str, str], *, me: str, today: date) -> bool:
    """Whether the exception is one of those that the filters choose."""
    wanted = {"me": me, "none": None}
    if "owner" in typed and exception.owner != wanted[typed["owner"]]:
        return False
    return "due" not in typed or (exception.due_on is not None and exception.due_on <= today)


async def match_again(request: OperatorRequest) -> Response:
    """Such as after a top-up was booked."""
    await request.form()

    async def act(tx: Tx) -> BankMatchingSummary:
        await payer_accounts.lock(tx)
        return await match_bank_lines.match_bank_lines(tx, by=request.actor.name, now=request.parts.clock())

    await write_apart(request, act)
    return request.go(PATH, "lines-matched")


async def show(request: OperatorRequest) -> Response:
    return await page(request, id_in(request, "bank_exception"))


async def decide(request: OperatorRequest) -> Response:
    form = await request.form()
    id_ = id_in(request, "bank_exception")
    typed = {name: form.text(name) for name in _TYPED}
    if typed["action"] not in BankAction.__members__.values():
        problem = form_errors.sentence(request.words, "field_required")
        return await page(request, id_, status=HTTPStatus.BAD_REQUEST, problem=problem, values=typed)
    action = BankAction(typed["action"])

    async def act(tx: Tx) -> Decided:
        terms = LineTerms(
            action=action,
            account=typed["account"] if action is BankAction.BOOK else "",
            settlement_ids=() if action is BankAction.BOOK else await _ids_of(tx, typed["settlements"]),
            booking_id=typed["booking"] if action is BankAction.MATCH else "",
            merchant_id=typed["merchant"] if action is BankAction.ADOPT else "",
            key=typed["key"] if action is BankAction.ADOPT else "",
        )
        return await decide_exception.begin(
            tx,
            id_,
            terms,
            reason=" ".join(typed["reason"].split()),
            approval_amount=request.parts.settings.booking_approval_amount,
            reference_prefix=request.parts.settings.reference_prefix,
            actor=request.actor,
            now=request.parts.clock(),
        )

    try:
        done = await write_apart(request, act)
    except Refusal as refusal:
        problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
        return await page(request, id_, status=status, problem=problem, values=typed)
    return request.go(f"{PATH}/{id_}", "exceptions-approved" if done.is_done else "exceptions-proposed")


async def _ids_of(connection: Conn, typed: str) -> tuple[str, ...]:
    """Settlements by id, by reference, or by the key that the bank sees."""
    names = typed.split()
    by_key = await settlements.find_by_keys(connection, {each.rpartition("-")[2] for each in names})
    known = {name: by_key[key].id for name in names if (key := name.rpartition("-")[2]) in by_key}
    return tuple(dict.fromkeys(known.get(name, name) for name in names))


async def page(
    request: OperatorRequest,
    exception_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Response:
    async def find(connection: Conn) -> _Page:
        exception = await store.get_exception(connection, exception_id)
        if exception is None:
            raise NoSuchBankException
        accounts = {each.id: each for each in await payer_accounts.find_all(connection)}
        return _Page(
            exception,
            accounts[exception.line.payer_account_id],
            await _find_candidates(connection, exception.line.cents),
            [each for each in await store.find_bookings(connection) if each.cents == exception.line.cents],
            await merchants.find_all(connection),
            await find_waiting(connection, request, BANK_LINES, exception.id),
            await casework.find(connection, request, exception.id, f"{PATH}/{exception.id}"),
        )

    found = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/bank/exception.html",
        status=status,
        problem=problem,
        values=dict.fromkeys(_TYPED, "") | dict(values or {}),
        exception=found.exception,
        payer=found.account,
        candidates=found.candidates,
        bookings=found.bookings,
        merchants=[(each.id, each.name) for each in found.merchants],
        names={each.id: each.name for each in found.merchants},
        house=[(str(each), request.words(ACCOUNTS[each])) for each in BOOKED_TO],
        waiting=found.waiting,
        casework=found.casework,
        why=WHY_NO_PLACE,
    )


class NoSuchBankException(Missing):
    def __init__(self) -> None:
        super().__init__("There is no exception with this id.")


async def assign(request: OperatorRequest) -> Response:
    path = f"{PATH}/{id_in(request, 'bank_exception')}"
    return await casework.change_assignment(request, _subject(request), path, _again(request))


async def add_file(request: OperatorRequest) -> Response:
    path = f"{PATH}/{id_in(request, 'bank_exception')}"
    return await casework.add_file(request, _subject(request), path, _again(request))


def _subject(request: OperatorRequest) -> Callable[[Tx], Awaitable[CaseworkSubject]]:
    async def find(tx: Tx) -> CaseworkSubject:
        exception_id = id_in(request, "bank_exception")
        if await store.get_exception(tx, exception_id) is None:
            raise NoSuchBankException
        return CaseworkSubject(exception_id)

    return find


def _again(request: OperatorRequest) -> Callable[[str, int], Awaitable[Response]]:
    async def again(problem: str, status: int) -> Response:
        return await page(request, id_in(request, "bank_exception"), status=HTTPStatus(status), problem=problem)

    return again


async def _find_candidates(connection: Conn, cents: int) -> list[Settlement]:
    """A debit is of one that was sent, or of one that a restored database did not send; a credit, of one that was
    paid."""
    statuses = (SettlementStatus.SENT, SettlementStatus.REQUESTED) if cents < 0 else (SettlementStatus.COMPLETED,)
    found = [
        each
        for status in statuses
        for each in await settlements.find_latest(connection, status=status, limit=10_000)
        if each.net_amount * 100 == abs(cents)
    ]
    return found[:_MOST_CANDIDATES]
