"""The routes that workers report to carry, and so whether a channel's payments are sent. Pure.

Commands and API processes have settings of their own, but only workers send payments.
"""

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import NamedTuple

# A worker reports about once a second. A worker that has ended may come back with the routes that it carried.
RUNNING, REMEMBERED = timedelta(minutes=1), timedelta(hours=1)


class WorkerReport(NamedTuple):
    routes: frozenset[str]
    is_running: bool  # it has reported within RUNNING; otherwise within REMEMBERED


class WorkerCoverage(Enum):
    """Whether workers send payments of a channel and type."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # no worker that runs has reported


def route_of(channel: str, type_: str) -> str:
    return f"{channel} {type_}"


def served_by(reports: Sequence[WorkerReport], route: str) -> WorkerCoverage:
    if any(route in each.routes for each in reports):
        return WorkerCoverage.YES
    return WorkerCoverage.NO if any(each.is_running for each in reports) else WorkerCoverage.UNKNOWN
