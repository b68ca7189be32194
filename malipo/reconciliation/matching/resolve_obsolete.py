"""Resolves exceptions whose cause no longer exists: after matching, and after operators approved a list of lines."""

from datetime import datetime

from malipo.approvals import decide
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import EXCEPTION_ACTIONS, EXCEPTION_UNDOS
from malipo.db import Tx
from malipo.reconciliation.matching.carriers import carriers_of
from malipo.reconciliation.matching.exception import ExceptionState, is_exception_id
from malipo.reconciliation.matching.store import absence, exceptions
from malipo.reconciliation.statements.choose_profile import all_profiles


async def resolve_obsolete(tx: Tx, *, now: datetime) -> int:
    """Resolve them, and end the proposals about them. Returns their number. The caller has taken the lock of
    matching."""
    stated = carriers_of(await absence.find_files(tx), await all_profiles(tx))
    gone = await exceptions.resolve_obsolete(tx, stated=stated, now=now)
    for each in await proposals.find_open(tx, [*EXCEPTION_ACTIONS, *EXCEPTION_UNDOS]):
        # Also of exceptions that an older version has resolved, which does not know proposals.
        found = await exceptions.get(tx, each.subject) if is_exception_id(each.subject) else None
        if found is not None and found.state is not ExceptionState.PROPOSED:
            await decide.end_by_system(tx, each, now=now)
    return len(gone)
