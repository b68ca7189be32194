"""Makes an exception of each payment that complete statements do not show. It ends no payment: operators look into
it."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from malipo import ids
from malipo.db import Tx
from malipo.network_statements.profile import StatementProfile
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.carriers import carrier_of, carriers_of, channels_of
from malipo.reconciliation.matching.exception import ID_PREFIX, ExceptionKind, Findings, FoundException
from malipo.reconciliation.matching.payment_times import BEFORE, ids_of, merged
from malipo.reconciliation.matching.store import absence as store
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.statements.coverage import Span, covered_by_all, spans_of
from malipo.reconciliation.statements.statement_file import StatementFile

# A connector, and the channels whose payments its files have.
_Group = tuple[str, tuple[Channel, ...]]


class AbsenceResult(NamedTuple):
    """The exceptions of absent payments, and how many payments no statement shows that may be absent or not."""

    exceptions: Findings
    waiting: int = 0  # no complete statement covers them yet
    uncarried: int = 0  # no statement exists of the connector that carried them


async def flag_absent(tx: Tx, profiles: Mapping[str, StatementProfile], *, now: datetime) -> AbsenceResult:
    """Find absent payments, and store an exception for each. The caller has taken the lock of matching."""
    found = Findings()
    unchecked = await store.find_unchecked(tx)
    if not unchecked:
        return AbsenceResult(found)
    files = await store.find_files(tx)
    covered = _covered(files, profiles, await store.find_sure_accounts(tx))
    stated = carriers_of(files, profiles)
    await store.begin(tx)
    for (carrier, channels), of_group in _by_group(unchecked, profiles).items():
        times = [(file.begins_at, file.ends_at) for file in of_group]
        first, last = ids_of(merged((begins - BEFORE, ends) for begins, ends in times if begins and ends))
        await store.note_unmatched(
            tx,
            channels,
            covered.get((carrier, channels), []),
            first=first,
            last=last,
            carrier=carrier,
            stated=stated,
        )
    async for absent in store.find(tx):
        found.add(await exceptions.insert(tx, [_exception_of(each, now) for each in absent], now=now))
    await store.set_checked(tx, [file.id for file in unchecked])
    waiting, uncarried = await store.count_undecided(tx)
    return AbsenceResult(found, waiting, uncarried)


def _group_of(file: StatementFile, profiles: Mapping[str, StatementProfile]) -> _Group:
    carrier = carrier_of(file, profiles)
    return carrier, channels_of(carrier, file)


def _by_group(
    files: list[StatementFile], profiles: Mapping[str, StatementProfile]
) -> dict[_Group, list[StatementFile]]:
    groups: dict[_Group, list[StatementFile]] = {}
    for file in files:
        groups.setdefault(_group_of(file, profiles), []).append(file)
    return groups


def _covered(
    files: list[StatementFile], profiles: Mapping[str, StatementProfile], sure: set[tuple[str, str]]
) -> dict[_Group, list[Span]]:
    """The times that all sure accounts of a group cover. An account that one operator could have invented does not
    count: it would leave no time covered."""
    covered = {}
    for group, of_group in _by_group(files, profiles).items():
        accounts: dict[tuple[str, str], list[StatementFile]] = {}
        for file in of_group:
            if (file.channel, file.account) in sure:
                accounts.setdefault((file.channel, file.account), []).append(file)
        covered[group] = covered_by_all(spans_of(each) for each in accounts.values())
    return covered


def _exception_of(absent: store.AbsentPayment, now: datetime) -> FoundException:
    return FoundException(
        id=ids.mint(ID_PREFIX, now),
        kind=ExceptionKind.OURS_ONLY,
        channel=absent.channel,
        merchant_id=absent.merchant_id,
        transaction_id=absent.transaction_id,
        amount=absent.amount,
    )
