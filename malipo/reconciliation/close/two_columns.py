"""The two columns of a channel, and the balances of accounts, from sums. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from malipo.reconciliation.close.signed_content import ChangeKind, CloseColumn


class AccountFlow(msgspec.Struct, frozen=True):
    """The amount that moved between two accounts."""

    source: str
    target: str
    channel: str | None
    change_kind: str | None
    amount: int

    @property
    def name(self) -> str:
        return " ".join(filter(None, (f"{self.source}>{self.target}", self.channel)))

    @property
    def change(self) -> int:
        """The change of the network's account, signed as in a statement: above 0 came in."""
        if self.source == self.target:
            return 0
        if self.source == "float":
            return self.amount
        return -self.amount if self.target == "float" else 0


def sums_of(flows: Iterable[AccountFlow]) -> dict[str, int]:
    """The amounts by the names of the flows."""
    sums: Counter[str] = Counter()
    for flow in flows:
        sums[flow.name] += flow.amount
    return dict(sums)


def route_of(name: str, amount: int) -> AccountFlow:
    """The flow with this name."""
    ends, _, channel = name.partition(" ")
    source, _, target = ends.partition(">")
    return AccountFlow(source, target, channel or None, None, amount)


def late_flows(now: Iterable[AccountFlow], then: Mapping[str, int]) -> list[AccountFlow]:
    """The moves that a closed day has now and did not have at its close; negative, if moves are missing."""
    sums = sums_of(now)
    names = sorted(sums.keys() | then.keys())
    return [route_of(name, more) for name in names if (more := sums.get(name, 0) - then.get(name, 0))]


def changes_of(flows: Iterable[AccountFlow]) -> dict[str, int]:
    """The change of each account; each channel has a float of its own."""
    changes: Counter[str] = Counter()
    for flow in flows:
        for account, amount in ((flow.source, -flow.amount), (flow.target, flow.amount)):
            changes[f"float {flow.channel}" if account == "float" else account] += amount
    return dict(changes)


def added(balances: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    return {name: balances.get(name, 0) + changes.get(name, 0) for name in sorted(balances.keys() | changes.keys())}


def ledger_column(channel: str, opening: int, flows: Iterable[AccountFlow]) -> CloseColumn:
    """The ledger's column, with the sign that a network would give: money that it holds for us is above 0."""
    changes = _by_kind((flow.change_kind or ChangeKind.OTHER, flow.change) for flow in flows if flow.channel == channel)
    return CloseColumn(opening=opening, changes=changes, closing=opening + sum(changes.values()))


def statement_column(opening: int, lines: Iterable[tuple[str, int]], closing: int) -> CloseColumn:
    return CloseColumn(opening=opening, changes=_by_kind(lines), closing=closing)


def _by_kind(amounts: Iterable[tuple[str, int]]) -> dict[ChangeKind, int]:
    changes: dict[ChangeKind, int] = {}
    for change_kind, amount in amounts:
        changes[ChangeKind(change_kind)] = changes.get(ChangeKind(change_kind), 0) + amount
    return {change_kind: changes[change_kind] for change_kind in ChangeKind if changes.get(change_kind)}
