"""Finds payments that complete statements do not have. Nothing ends by that: it is for operators to look into."""

from collections.abc import Mapping
from datetime import datetime

from malipo import ids
from malipo.db import Tx
from malipo.network_statements.profile import Profile
from malipo.reconciliation.coverage import Span, covered_by_all, spans_of
from malipo.reconciliation.exception import ExceptionKind, Findings, FoundException
from malipo.reconciliation.payment_windows import BEFORE, ids_of, merged
from malipo.reconciliation.statement_file import StatementFile
from malipo.reconciliation.store import absence as store
from malipo.reconciliation.store import exceptions

# The files in which payments of these channels stand; of an aggregator, the name by which it carried them.
_Group = tuple[str | None, tuple[str, ...]]


async def find_absent(tx: Tx, profiles: Mapping[str, Profile], found: Findings, *, now: datetime) -> int:
    """How many payments cannot be told yet. The caller holds the lock."""
    unchecked = await store.find_unchecked(tx)
    if not unchecked:
        return 0
    aggregators = [name for name, each in profiles.items() if each.is_aggregator]
    covered = _covered(await store.find_files(tx), profiles)
    await store.begin(tx)
    for (carrier, channels), files in _by_group(unchecked, profiles).items():
        times = [(file.begins_at, file.ends_at) for file in files]
        first, last = ids_of(merged((begins - BEFORE, ends) for begins, ends in times if begins and ends))
        await store.note_unmatched(
            tx,
            channels,
            covered.get((carrier, channels), []),
            first=first,
            last=last,
            aggregators=aggregators if carrier is None else [carrier],
            is_carried=carrier is not None,
        )
    async for absent in store.find(tx):
        found.add(await exceptions.insert(tx, [_exception_of(each, now) for each in absent], now=now))
    await store.set_checked(tx, [file.id for file in unchecked])
    return await store.count_waiting(tx)


def _group_of(file: StatementFile, profiles: Mapping[str, Profile]) -> _Group:
    profile = profiles.get(file.profile)
    if profile is not None and profile.is_aggregator:
        return profile.name, tuple(profile.channels)
    return None, (file.channel,)


def _by_group(files: list[StatementFile], profiles: Mapping[str, Profile]) -> dict[_Group, list[StatementFile]]:
    groups: dict[_Group, list[StatementFile]] = {}
    for file in files:
        groups.setdefault(_group_of(file, profiles), []).append(file)
    return groups


def _covered(files: list[StatementFile], profiles: Mapping[str, Profile]) -> dict[_Group, list[Span]]:
    covered = {}
    for group, of_group in _by_group(files, profiles).items():
        accounts: dict[tuple[str, str], list[StatementFile]] = {}
        for file in of_group:
            accounts.setdefault((file.channel, file.account), []).append(file)
        covered[group] = covered_by_all(spans_of(each) for each in accounts.values())
    return covered


def _exception_of(absent: store.AbsentPayment, now: datetime) -> FoundException:
    return FoundException(
        id=ids.mint("exc_", now),
        kind=ExceptionKind.OURS_ONLY,
        channel=absent.channel,
        merchant_id=absent.merchant_id,
        transaction_id=absent.transaction_id,
        amount=absent.amount,
    )
