"""Resolves the exceptions whose cause has gone: after matching, and after a list of lines was approved."""

from datetime import datetime

from malipo.db import Tx
from malipo.reconciliation.carriers import carriers_of
from malipo.reconciliation.choose_profile import all_profiles
from malipo.reconciliation.store import absence, exceptions


async def resolve_gone(tx: Tx, *, now: datetime) -> int:
    """How many. The caller holds the lock of matching."""
    stated = carriers_of(await absence.find_files(tx), await all_profiles(tx))
    return len(await exceptions.resolve_gone(tx, stated=stated, now=now))
