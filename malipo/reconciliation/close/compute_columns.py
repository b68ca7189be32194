"""Computes the close of a day from the statements, the ledger and the open items of the day before.

Entries and open items are collected in temporary tables of the transaction; nothing else is stored.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta

import msgspec
from msgspec.structs import replace

from malipo import money
from malipo.db import Tx
from malipo.errors import Problem, ensure
from malipo.networks.connector import Channel
from malipo.reconciliation.close import late_moves
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.signed_content import ChangeKind, ChannelClose, DayClose
from malipo.reconciliation.close.store import balances, closes, entries, open_items
from malipo.reconciliation.close.store.entries import CountedStatements, LineSum
from malipo.reconciliation.close.two_columns import (
    AccountFlow,
    added,
    changes_of,
    late_flows,
    ledger_column,
    route_of,
    statement_column,
    sums_of,
)
from malipo.reconciliation.matching.carriers import carriers_of
from malipo.reconciliation.matching.store import absence
from malipo.reconciliation.statements import coverage
from malipo.reconciliation.statements.choose_profile import all_profiles
from malipo.reconciliation.statements.statement_file import StatementFile


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger's side of a day."""

    before: Mapping[str, int]  # balances
    own: Sequence[AccountFlow]  # the day's moves of merchants
    late: Sequence[AccountFlow]  # moves of the days before that were committed after their close
    house: Sequence[AccountFlow]

    @property
    def flows(self) -> list[AccountFlow]:
        return [*self.own, *self.late, *self.house]

    @property
    def after(self) -> dict[str, int]:
        return added(self.before, changes_of(self.flows))

    def float_before(self, channel: str) -> int:
        """The float before the day, with the sign that the network would give it."""
        return -self.before.get(f"float {channel}", 0)


async def collect_ledger_entries(tx: Tx, day: date, before: ClosedDay | None) -> Ledger:
    """Read the moves of the day, and late moves of the days before, into the entries of the close."""
    begins, ends = begin_of(day), end_of(day)
    own = await entries.add_moves(tx, day, begins, ends)
    house = await entries.add_house_bookings(tx, day)
    if before is None:
        opening = changes_of(await balances.find_flows_before(tx, day, begins))
        return Ledger(before=opening, own=own, late=[], house=house)
    close = before.close
    now = await balances.find_flows(tx, begin_of(before.day), end_of(before.day))
    sums = late_moves.added(sums_of(late_flows(now, close.routes)), (await late_moves.find_pending(tx, before)).routes)
    late = [route_of(name, amount) for name, amount in sorted(sums.items()) if amount]
    await entries.add(
        tx, "late", [(each.channel, "", -each.change) for each in late if each.channel], day=day, moment=begins
    )
    return Ledger(before=close.balances, own=own, late=late, house=house)


Files = Mapping[str, Sequence[StatementFile]]  # of a channel, by account


class NetworkColumn(msgspec.Struct, frozen=True, kw_only=True):
    """The statements' side of a channel in a day."""

    since: CountedStatements
    opening: Mapping[str, int]
    closing: Mapping[str, int]
    new_accounts: frozenset[str]  # accounts that no close before this one has

    @property
    def opened(self) -> int:
        """The balance of the new accounts when they were first counted."""
        return sum(amount for account, amount in self.opening.items() if account in self.new_accounts)

    def gaps(self, lines: Sequence[LineSum]) -> dict[str, tuple[int, int]]:
        """The difference between each account's balances and its lines, and the part of it that comes from cents.

        Balances and lines are rounded separately, so cents can make a difference of a shilling.
        """
        found = {}
        for account, closing in self.closing.items():
            own = [each for each in lines if each.account == account]
            missing = closing - self.opening[account] - sum(each.amount for each in own)
            rounded, _ = money.split(sum(each.cents for each in own))
            has_cents = any(each.cents for each in own)
            found[account] = (0, missing) if has_cents and abs(missing - rounded) <= 1 else (missing - rounded, rounded)
        return found


def find_missing(files: Files, earlier: ChannelClose | None, begins: datetime, ends: datetime) -> list[Problem]:
    """Why a channel's statements do not cover the day."""
    closing_balances = {} if earlier is None else earlier.accounts
    accounts = sorted(
        {name for name, each in files.items() if coverage.begins_before(each, ends)} | closing_balances.keys()
    )
    if not accounts:
        return coverage.missing([], begins, ends, balance=None)
    return [
        Problem(coverage.CoverageProblem.ACCOUNT, account=account, why=why) if account else why
        for account in accounts
        for why in coverage.missing(files.get(account, []), begins, ends, balance=closing_balances.get(account))
    ]


async def read_network(
    tx: Tx, files: Files, since: CountedStatements, ends: datetime, earlier: ChannelClose | None
) -> NetworkColumn:
    closing_balances = {} if earlier is None else earlier.accounts
    opening, closing = dict(closing_balances), dict(closing_balances)
    for account, own in files.items():
        if account not in closing_balances and (first := coverage.first_from(own, since.until)):
            opening[account] = await balances.balance_at(tx, first, max(since.until, first.begins_at or since.until))
        if account in opening and (last := coverage.last_before(own, ends)):
            closing[account] = await balances.balance_at(tx, last, ends)
    return NetworkColumn(
        since=since,
        opening={account: opening[account] for account in sorted(closing)},
        closing={account: closing[account] for account in sorted(closing)},
        new_accounts=frozenset(closing.keys() - closing_balances.keys()),
    )


# A movement that the ledger has shortly before midnight may be shortly after midnight at the network.
_EXPECTED_WITHIN = timedelta(hours=2)
# A transfer between bank and network takes a weekend.
_TRANSFER_WITHIN = timedelta(days=3)


class ComputedClose(msgspec.Struct, frozen=True):
    close: DayClose
    counted: Mapping[str, CountedStatements]
    missing: Mapping[str, list[Problem]]  # channels with moves and without a complete statement, and why


class _Statements(msgspec.Struct, frozen=True):
    networks: Mapping[str, NetworkColumn]  # channels whose statements cover the day
    missing: Mapping[str, list[Problem]]  # why the statements of the other channels do not
    lines: Sequence[LineSum]
    counted: Mapping[str, CountedStatements]


async def compute(tx: Tx, day: date, *, before: ClosedDay | None, without: Collection[str]) -> ComputedClose:
    """Compute the close. `without` are channels that are closed without a statement. The day before is closed, or there
    is none."""
    await entries.begin(tx, day if before is None else before.day)
    ledger = await collect_ledger_entries(tx, day, before)
    earlier = {} if before is None else {each.channel: each for each in before.close.channels}
    statements = await _collect_statement_entries(tx, day, ledger, before, earlier, without)
    await _add_balances(tx, day, ledger, statements, is_first=before is None)
    await _build_open_items(tx, day, without=[each for each in statements.missing if each not in statements.networks])
    sums, items = await open_items.find_sums(tx), await open_items.find_items(tx)
    files = await balances.find_files_by_account(tx, end_of(day))
    readings = await balances.find_readings(tx, begin_of(day), end_of(day), files)
    channels = [
        replace(
            each,
            open=sums.get(each.channel, {}),
            items=tuple(items.get(each.channel, ())),
            readings=readings.get(each.channel, {}),
        )
        for each in _columns(ledger, statements, earlier)
    ]
    wallets, in_flight, owed = await balances.find_wallets(tx, end_of(day))
    close = DayClose(
        day=day,
        channels=tuple(channels),
        balances=ledger.after,
        changes=changes_of(ledger.flows),
        wallets=wallets,
        in_flight=in_flight,
        owed=owed,
        routes=sums_of(ledger.own),
        late=sums_of(ledger.late),
    )
    _require_explained_in_full(close)
    moved = {flow.channel for flow in ledger.flows}
    return ComputedClose(
        close, statements.counted, {each: why for each, why in statements.missing.items() if why and each in moved}
    )


async def _collect_statement_entries(
    tx: Tx,
    day: date,
    ledger: Ledger,
    before: ClosedDay | None,
    earlier: Mapping[str, ChannelClose],
    without: Collection[str],
) -> _Statements:
    """Read the statements of each channel, and put their lines into the entries of the close."""
    begins, ends = begin_of(day), end_of(day)
    counted = {} if before is None else msgspec.json.decode(before.counted, type=dict[str, CountedStatements])
    newest, withdrawn = await entries.last_line_id(tx), await entries.last_withdrawn_number(tx)
    first = begin_of(await closes.find_first_day(tx) or day)
    files = await balances.find_files_by_account(tx, ends)
    known = earlier.keys() | files.keys() | {name.removeprefix("float ") for name in ledger.after}
    networks: dict[str, NetworkColumn] = {}
    missing: dict[str, list[Problem]] = {}
    for channel in (each for each in Channel if each in known):
        own = files.get(channel, {})
        missing[channel] = find_missing(own, earlier.get(channel), begins, ends)
        if not missing[channel] and channel not in without:
            so_far = counted.get(channel) or CountedStatements(first, newest, withdrawn)
            networks[channel] = await read_network(tx, own, so_far, ends, earlier.get(channel))
    since = {channel: each.since for channel, each in networks.items()}
    lines = await entries.add_lines(tx, day, ends, since)
    lines += await entries.add_withdrawn(tx, day, first, since)
    now_counted = {each: CountedStatements(ends, newest, withdrawn) for each in networks}
    return _Statements(networks, missing, lines, {**counted, **now_counted})


async def _add_balances(tx: Tx, day: date, ledger: Ledger, statements: _Statements, *, is_first: bool) -> None:
    """Add the opening balances of new accounts, and differences between balances and lines, to the entries."""
    changes, rounded = [], []
    for channel in statements.missing:
        network = statements.networks.get(channel)
        opened = network.opened if network else 0
        changes.append((channel, "", opened - (ledger.float_before(channel) if is_first else 0)))
        if network:
            own = [each for each in statements.lines if each.channel == channel]
            gaps = network.gaps(own)
            changes += [(channel, account, gap) for account, (gap, _) in gaps.items()]
            rounded += [(channel, account, of_cents) for account, (_, of_cents) in gaps.items()]
    await entries.add(tx, "balance", changes, day=day, moment=begin_of(day))
    await entries.add(tx, "rounding", rounded, day=day, moment=begin_of(day))


async def _build_open_items(tx: Tx, day: date, *, without: list[str]) -> None:
    ends = end_of(day)
    stated = carriers_of(await absence.find_files(tx), await all_profiles(tx))
    await open_items.build_open_items(
        tx, expected_since=ends - _EXPECTED_WITHIN, transfers_since=ends - _TRANSFER_WITHIN, stated=stated
    )
    await open_items.set_without_statement(tx, without)


def _columns(ledger: Ledger, statements: _Statements, earlier: Mapping[str, ChannelClose]) -> list[ChannelClose]:
    found = []
    for channel in statements.missing:
        network = statements.networks.get(channel)
        own = [each for each in statements.lines if each.channel == channel]
        column, accounts = None, earlier[channel].accounts if channel in earlier else {}
        if network:
            amounts = [(each.change_kind, each.amount) for each in own]
            amounts += [(ChangeKind.ROUNDING, of_cents) for _, of_cents in network.gaps(own).values()]
            column = statement_column(sum(network.opening.values()), amounts, sum(network.closing.values()))
            accounts = network.closing
        found.append(
            ChannelClose(
                channel=channel,
                ledger=ledger_column(channel, ledger.float_before(channel), ledger.flows),
                statement=column,
                accounts=accounts,
                learned_later=sum(each.amount for each in own if each.is_of_closed_day),
            )
        )
    return found


def _require_explained_in_full(close: DayClose) -> None:
    """Ensure that the open items sum to the difference between the two columns."""
    for each in close.channels:
        explained = sum(reason.amount for reason in each.open.values())
        ensure(each.difference in (None, explained), f"open items do not explain the difference of {each.channel}")
