"""Sets the carrier of a saved layout: which aggregator's account its files are of."""

from datetime import datetime

from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict
from malipo.network_statements.mapped_profile import with_carrier
from malipo.network_statements.profile import StatementProfile, built_in
from malipo.reconciliation.matching.store import absence, matching
from malipo.reconciliation.statements.choose_profile import ProfileRefusal, encode, find_profile
from malipo.reconciliation.statements.statement_file import LayoutAuthor, LayoutChoice
from malipo.reconciliation.statements.store import statements
from malipo.reconciliation.statements.store.statements import SavedLayout


async def set_carrier(tx: Tx, name: str, carrier: str, *, actor: Actor, now: datetime) -> StatementProfile:
    """Set which aggregator's account the files of a saved layout are of, also files that were imported before; empty
    for the network's own. The files then lack other payments, so absent payments are searched again."""
    await matching.lock_for_decision(tx)
    await statements.lock_profile(tx, name)
    profile = await find_profile(tx, name)
    if name in built_in():
        raise Conflict(code=ProfileRefusal.OWN_LAYOUT, name=name)
    said_by = replace(profile.said_by, carrier=actor.name)
    profile = replace(with_carrier(profile, carrier), said_by=said_by)
    await statements.put_profile(tx, SavedLayout(name, encode(profile), actor.name, said_by), now=now)
    # Files that were imported before are matched by it too.
    await statements.add_author(tx, name, LayoutAuthor(by=actor.name, said=LayoutChoice.AGGREGATOR))
    await absence.check_layout_again(tx, name)
    await audit_log.append(tx, actor, "statement_profile.aggregator", now=now, name=name, carrier=carrier)
    return profile
