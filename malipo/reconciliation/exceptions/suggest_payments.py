"""Suggests payments that a line may be of. Only operators decide, because equal amounts on one day prove nothing."""

from datetime import timedelta

from malipo import clock
from malipo.db import Conn
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.carriers import carrier_named
from malipo.reconciliation.matching.exception import UNMATCHED_LINE_KINDS, ReconciliationException, Suggestion
from malipo.reconciliation.matching.payment_times import ids_of, payment_times
from malipo.reconciliation.matching.store import unmatched_lines
from malipo.reconciliation.statements.choose_profile import all_profiles
from malipo.reconciliation.statements.store import statements

_NEAR = timedelta(minutes=15)
_MOST = 10


async def suggest_payments(connection: Conn, exception: ReconciliationException) -> list[Suggestion]:
    """The suggestions, the likeliest first; none for a line that is matched or booked."""
    if exception.kind not in UNMATCHED_LINE_KINDS or exception.line_id is None or exception.moved_at is None:
        return []
    profiles = await all_profiles(connection)
    profile = profiles.get(await statements.find_profile_of(connection, exception.file_id or ""))
    is_aggregator = bool(carrier_named(exception.account)) or (profile is not None and profile.is_aggregator)
    first, last = ids_of(payment_times([clock.day_of(exception.moved_at)]))
    return await unmatched_lines.suggest(
        connection,
        exception.line_id,
        channels=list(Channel) if is_aggregator else [exception.channel],
        day=(first[0], last[0]),
        moments=(exception.moved_at - _NEAR, exception.moved_at + _NEAR),
        limit=_MOST,
    )
