"""Fetches a day's statement from a network's API into a file, which is then imported like any other.

The file is complete before anything is imported. A page that fails in the middle leaves nothing behind.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

from malipo import clock
from malipo.errors import Code, Invalid
from malipo.network_statements.profile import StatementProfile, built_in
from malipo.networks.connector import Channel
from malipo.networks.routing import Networks
from malipo.networks.statement_source import CannotFetch, FetchedLine, StatementSource
from malipo.table_files.csv_export import csv_lines

_HEADER = ("receipt", "moved at", "amount", "service", "reference", "phone", "details")


class FetchRefusal(Code):
    NO_API = "fetch_no_api"
    NOT_OVER = "fetch_not_over"


@dataclass(frozen=True)
class FetchableAccount:
    """An account whose statement can be fetched. An aggregator's account counts as its first channel's."""

    connector: str
    channel: Channel
    account: str
    source: StatementSource

    @property
    def profile(self) -> StatementProfile:
        return built_in()[self.source.statement_profile]


def fetchable_accounts(networks: Networks) -> list[FetchableAccount]:
    """The accounts of connected networks that have such an API and carry a channel."""
    found = []
    for name, connector in networks.connectors.items():
        carried = {channel for channel, _ in networks.carried_by(name)}
        if carried and isinstance(connector, StatementSource):
            channel = next(each for each in Channel if each in carried)
            found.append(FetchableAccount(name, channel, networks.account_name(name, channel), connector))
    return found


def account_of(networks: Networks, channel: Channel) -> FetchableAccount:
    """The account with the statement of this channel's payments."""
    carriers = {carrier for route, carrier in networks.routes.items() if route[0] is channel}
    found = [each for each in fetchable_accounts(networks) if each.connector in carriers]
    # The channel's own network comes before an aggregator that carries only collections or payouts of it.
    found.sort(key=lambda each: each.channel is not channel)
    if not found:
        raise CannotFetch(code=FetchRefusal.NO_API, channel=channel)
    return found[0]


def day_bounds(day: date) -> tuple[datetime, datetime]:
    """The begin and the end of a day in Dar es Salaam."""
    begins = datetime.combine(day, time(), clock.ZONE)
    return begins, begins + timedelta(days=1)


# A day that could not be fetched is tried again while it is one of the last so many.
DAYS_TRIED = 7


def missing_days(yesterday: date, fetched: Collection[date], *, first: date | None) -> list[date]:
    """The days to fetch, the oldest first: the days of the last seven that were not fetched, from the first day that
    ever was. An account without any fetched day begins with yesterday."""
    days = [yesterday - timedelta(days=ago) for ago in range(DAYS_TRIED - 1, -1, -1)]
    return [day for day in days if day not in fetched and (day == yesterday or (first is not None and first <= day))]


def require_over(day: date, now: datetime) -> None:
    if day_bounds(day)[1] > now:
        raise Invalid(code=FetchRefusal.NOT_OVER, day=day)


async def fetch_file(account: FetchableAccount, day: date, folder: Path) -> Path:
    """Fetch a day into a file in this folder, which the caller deletes."""
    begins, ends = day_bounds(day)
    path = folder / f"{account.connector}-{day}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(csv_lines([["from", begins.isoformat(), "to", ends.isoformat()], _HEADER]))
        async for line in account.source.fetch_statement(begins, ends):
            file.write(csv_lines([_row(line)]))
    return path


def _row(line: FetchedLine) -> list[str | int]:
    at = line.moved_at.isoformat(timespec="seconds")
    return [line.receipt, at, line.amount, line.service, line.key, line.phone, line.details]
