"""The checklist of a month: what is missing before it can be handed over, and what stays open at its end.

Missing is what people do first: days that are not closed, statements, what the bank and the books disagree about. Open
is what goes on: payments and settlements under way, exceptions, what waits for a second operator. The books have all of
that; the next month ends it.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

import msgspec

from malipo import clock
from malipo.bank.store import statements as bank_statements
from malipo.bank_evidence.banking_days import BOOKED_WITHIN, DayKind
from malipo.bank_evidence.coverage import days_of
from malipo.bank_evidence.store import holidays
from malipo.books import suspense
from malipo.books.read_journal import Period
from malipo.books.trial_balance import TrialBalance, find_trial_balance
from malipo.db import Conn
from malipo.errors import Code, Problem, Refusal
from malipo.invoices.invoice import Party
from malipo.month_end import store
from malipo.month_end.bank_reconciliation import BankItemKind, find_bank_reconciliation
from malipo.month_end.cells import money
from malipo.month_end.month import Month
from malipo.networks.connector import Channel
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.safeguarding import Cover, Safeguarding, safeguarding_of
from malipo.reconciliation.close.store import closes
from malipo.reconciliation.statements import coverage
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store.statements import file_of

_DAY = timedelta(days=1)
_MOST_NAMED = 5


class MonthPoint(Code):
    NOT_OVER = "month_not_over"
    NOT_CLOSED = "month_not_closed"
    NETWORK_STATEMENT = "month_network_statement"
    CLOSED_WITHOUT = "month_closed_without"
    BANK_STATEMENT = "month_bank_statement"
    DIFFERS = "month_differs"
    INVOICES = "month_invoices"
    BUYERS = "month_buyers"
    SHORT = "month_short"
    UNEXPLAINED = "month_unexplained"
    BANK_UNEXPLAINED = "month_bank_unexplained"
    BANK_OURS_ONLY = "month_bank_ours_only"
    UNANSWERED = "month_unanswered"
    ACCEPTED = "month_accepted"
    PAYMENTS = "month_payments"
    SETTLEMENTS = "month_settlements"
    EXCEPTIONS = "month_exceptions"
    BANK_LINES = "month_bank_lines"
    BANK_LATER = "month_bank_later"
    SUSPENSE = "month_suspense"
    PROPOSALS = "month_proposals"


class ArchiveRefusal(Code):
    NOT_CLOSED = "archive_not_closed"
    NOTHING_CLOSED = "archive_nothing_closed"
    DIFFERS = "archive_differs"
    NO_KEY = "archive_no_key"


class MonthEnd(msgspec.Struct, frozen=True, kw_only=True):
    month: Month
    closed: Sequence[date]
    missing: Sequence[Problem]
    open: Sequence[Problem]
    safeguarding: Safeguarding | None  # at the end of the last closed day of the month
    period: Period | None  # that an archive can have; None: not all days are closed

    @property
    def is_complete(self) -> bool:
        return not self.missing


async def find(connection: Conn, month: Month, *, now: datetime) -> MonthEnd:
    """The connection is a snapshot of the database."""
    closed = [each for each in await closes.find_after(connection, month.first - _DAY, limit=31) if _in(each, month)]
    days = [each.day for each in closed]
    to_close = days_to_close(month, days, await closes.find_first_day(connection))
    over = [day for day in to_close if day < clock.day_of(now)]
    missing = [Problem(MonthPoint.NOT_OVER, month=str(month))] if len(over) < len(to_close) else []
    if over:
        missing.append(Problem(MonthPoint.NOT_CLOSED, days=named(over), count=len(over)))
    missing += await _network_statements(connection, month, over)
    missing += await _bank_statements(connection, month, over, days)
    safeguarding = safeguarding_of(closed[-1].close) if closed else None
    balance = await find_trial_balance(connection, days[-1]) if days else None
    missing += _of_last_close(balance, safeguarding)
    bank_is_seen, of_bank, later = True, list[Problem](), list[Problem]()
    if balance is not None and not to_close:
        bank_is_seen, of_bank, later = await _bank_and_books(connection, month, balance)
    missing += of_bank if bank_is_seen else []
    missing += await _unanswered(connection, month, now=now)
    if days and not to_close:
        missing += _of_invoices(await store.find_not_invoiced(connection, month))
    return MonthEnd(
        month=month,
        closed=days,
        missing=missing,
        open=[
            *_of_closes(closed),
            *([] if bank_is_seen else of_bank),
            *await _open(connection, month, now=now),
            *later,
        ],
        safeguarding=safeguarding,
        period=Period(days[0], month.last) if days and not to_close else None,
    )


def _in(closed: ClosedDay, month: Month) -> bool:
    return month.first <= closed.day <= month.last


def days_to_close(month: Month, closed: Sequence[date], first: date | None) -> list[date]:
    """The days of the month that are not closed. Days before the first close of all never are."""
    return [day for day in month.days if day not in closed and (first is None or day >= first)]


async def require_archivable(connection: Conn, month: Month) -> Period:
    """The days of a month whose days are all closed: from its first one, or from the first close of all."""
    days = await store.find_closed_days(connection, month)
    if not days:
        raise Refusal(code=ArchiveRefusal.NOTHING_CLOSED, month=str(month))
    if open_days := days_to_close(month, days, await closes.find_first_day(connection)):
        raise Refusal(code=ArchiveRefusal.NOT_CLOSED, month=str(month), days=named(open_days))
    if (await find_trial_balance(connection, month.last)).differing:
        raise Refusal(code=ArchiveRefusal.DIFFERS, day=str(month.last))
    return Period(days[0], month.last)


def named(days: Iterable[date]) -> str:
    """`2026-10-01 to 2026-10-03, 2026-10-07`: stretches of days."""
    stretches: list[tuple[date, date]] = []
    for day in sorted(days):
        if stretches and stretches[-1][1] == day - _DAY:
            stretches[-1] = (stretches[-1][0], day)
        else:
            stretches.append((day, day))
    shown = [f"{first}" if first == last else f"{first} – {last}" for first, last in stretches]
    return ", ".join(shown[:_MOST_NAMED]) + (" …" if len(shown) > _MOST_NAMED else "")


async def _network_statements(connection: Conn, month: Month, over: Sequence[date]) -> list[Problem]:
    """Of days that are over and not closed: which accounts have no statement. (A close requires them.)"""
    if not over:
        return []
    files: dict[tuple[Channel, str], list[StatementFile]] = {}
    for row in await store.find_network_files(connection, month):
        if row["withdrawn_at"] is None:
            columns = {name: row[name] for name in StatementFile.__struct_fields__}
            file = file_of(columns)
            files.setdefault((file.channel, file.account), []).append(file)
    known = {channel for channel, _ in files}
    for part in (await find_trial_balance(connection, None)).balances:
        if part.account == "float" and part.of not in known and part.of in Channel.__members__.values():
            files[Channel(part.of), ""] = []
    found = []
    for (channel, account), own in sorted(files.items()):
        days = [day for day in over if coverage.missing(own, begin_of(day), begin_of(day + _DAY), balance=None)]
        if days:
            name = f"{channel} {account}".strip()
            found.append(Problem(MonthPoint.NETWORK_STATEMENT, channel=name, days=named(days)))
    return found


async def _bank_statements(
    connection: Conn, month: Month, over: Sequence[date], closed: Sequence[date]
) -> list[Problem]:
    """Days of the month that are or may be banking days, since the account is here, that no complete statement of it
    covers. Nobody is asked for one that may be a holiday if the balances go on across it."""
    taken, banking_days = await bank_statements.find_taken(connection), await holidays.find_banking_days(connection)
    found = []
    for account in await store.find_payer_accounts(connection):
        own = [each.covering for each in taken if each.payer_account_id == account["id"]]
        stretches = days_of((each for each in own if each is not None), banking_days.may_follow)
        since = clock.day_of(account["added_at"])
        days = [
            day
            for day in sorted([*over, *closed])
            if day >= since
            and banking_days.kind_of(day) is not DayKind.NONE
            and not any(first <= day <= last for first, last in stretches)
        ]
        if days:
            found.append(Problem(MonthPoint.BANK_STATEMENT, account=account["number"], days=named(days)))
    return found


def _of_last_close(balance: TrialBalance | None, safeguarding: Safeguarding | None) -> list[Problem]:
    if balance is None or safeguarding is None:
        return []
    found = []
    if balance.differing:
        found.append(Problem(MonthPoint.DIFFERS, day=str(balance.at), accounts=", ".join(balance.differing)))
    if safeguarding.cover is Cover.SHORT:
        found.append(Problem(MonthPoint.SHORT, day=str(safeguarding.day), amount=-safeguarding.difference))
    elif safeguarding.cover is Cover.UNEXPLAINED:
        found.append(Problem(MonthPoint.UNEXPLAINED, day=str(safeguarding.day), amount=safeguarding.unexplained))
    return found


async def _bank_and_books(
    connection: Conn, month: Month, balance: TrialBalance
) -> tuple[bool, list[Problem], list[Problem]]:
    """Whether there are statements of the bank at all, where it and the books disagree at the end of the month, and
    lines of it that the books have later: safeguarding takes the bank by the ledger, so nothing else asks."""
    held = sum(amount for part, amount in balance.balances.items() if part.account == "bank")
    reconciliation = await find_bank_reconciliation(connection, month, ledger=held)
    found = []
    if cents := reconciliation.unexplained:
        found.append(Problem(MonthPoint.BANK_UNEXPLAINED, amount=money(cents // 100, cents % 100)))
    if old := [abs(each.cents) for each in reconciliation.items if each.kind is BankItemKind.OURS_ONLY]:
        found.append(Problem(MonthPoint.BANK_OURS_ONLY, count=len(old), amount=sum(old) // 100))
    later = [abs(each.cents) for each in reconciliation.items if each.kind is BankItemKind.NOT_IN_BOOKS]
    amount = sum(later) // 100
    of_later = [Problem(MonthPoint.BANK_LATER, count=len(later), amount=amount)] if later else []
    return bool(reconciliation.accounts), found, of_later


def _of_invoices(not_invoiced: Sequence[Party]) -> list[Problem]:
    """Before they are issued: what they say of a merchant never changes."""
    found = [Problem(MonthPoint.INVOICES, count=len(not_invoiced))] if not_invoiced else []
    if unknown := sorted(each.name for each in not_invoiced if not (each.tin and each.address)):
        names = ", ".join(unknown[:_MOST_NAMED]) + (" …" if len(unknown) > _MOST_NAMED else "")
        found.append(Problem(MonthPoint.BUYERS, count=len(unknown), names=names))
    return found


async def _unanswered(connection: Conn, month: Month, *, now: datetime) -> list[Problem]:
    """Settlements that a bank would have booked by now: it has lost them, or a statement of ours is missing."""
    last_day = (await holidays.find_banking_days(connection)).last_booked(clock.day_of(now) - _DAY)
    count, amount = await store.sum_unanswered_settlements(connection, month.ends, sent_before=end_of(last_day))
    return [Problem(MonthPoint.UNANSWERED, days=BOOKED_WITHIN, count=count, amount=amount)] if count else []


def _of_closes(closed: Sequence[ClosedDay]) -> list[Problem]:
    """Days that were closed although something was missing or differed: people have decided that, and said why."""
    found = []
    without: dict[str, list[date]] = {}
    for each in closed:
        for channel in each.close.without:
            without.setdefault(channel, []).append(each.day)
    for channel, days in sorted(without.items()):
        found.append(Problem(MonthPoint.CLOSED_WITHOUT, channel=channel, days=named(days)))
    if accepted := [each.day for each in closed if each.requested_by is not None]:
        found.append(Problem(MonthPoint.ACCEPTED, days=named(accepted)))
    return found


async def _open(connection: Conn, month: Month, *, now: datetime) -> list[Problem]:
    """What is from the month or before it, and has not ended."""
    payments = await store.count_open_payments(connection, month.ends)
    settlements, settled = await store.sum_open_settlements(connection, month.ends)
    exceptions, at_stake = await store.count_open_exceptions(connection, month.ends)
    lines, moved = await store.count_open_bank_lines(connection, month.last)
    in_suspense = [each for each in (await suspense.find(connection, now=now)).items if each.since <= month.last]
    proposals = await store.count_open_proposals(connection, month.ends)
    points = [
        (MonthPoint.PAYMENTS, payments, {}),
        (MonthPoint.SETTLEMENTS, settlements, {"amount": settled}),
        (MonthPoint.EXCEPTIONS, exceptions, {"amount": at_stake}),
        (MonthPoint.BANK_LINES, lines, {"amount": moved}),
        (MonthPoint.SUSPENSE, len(in_suspense), {"amount": sum(each.amount for each in in_suspense)}),
        (MonthPoint.PROPOSALS, proposals, {}),
    ]
    return [Problem(point, count=count, **values) for point, count, values in points if count]
