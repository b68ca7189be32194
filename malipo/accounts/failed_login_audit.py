"""Failed log-ins in the audit log. A stranger can cause any number of them, so the log has only the first few of an
hour for each account; the others are counted, and get one entry when the hour is over.

Log-ins with the right password that then need a code are logged in the same way, and so are wrong codes: a thief of a
password can cause any number of both.

Names without an account are counted together and never logged, because people type passwords there by mistake.
"""

from datetime import datetime, timedelta

from malipo.accounts.store import login_attempts
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database

MOST_AN_HOUR = 10
_NOBODY = "unknown"


class FailedLogins:
    def __init__(self, database: Database, kind: str, action: str = "login.failed") -> None:
        self._database = database
        self._kind = kind
        self._action = action

    async def note(
        self,
        account_id: str | None,
        actor: Actor | None,
        *,
        merchant_id: str | None,
        address: str,
        is_throttled: bool,
        now: datetime,
        **details: str,
    ) -> None:
        """Count a failed log-in, and log it if it is one of the first of this hour. Without an actor, the name has no
        account."""
        who = actor or Actor(_NOBODY, address)
        account = f"{self._kind} {account_id or _NOBODY}"
        async with self._database.begin() as tx:
            failures = await login_attempts.count_failure(
                tx,
                account,
                _hour(now),
                action=self._action,
                name=who.name,
                merchant_id=merchant_id,
                is_throttled=is_throttled,
            )
            if not is_throttled and failures <= MOST_AN_HOUR:
                await audit_log.append(tx, who, self._action, now=now, merchant_id=merchant_id, **details)


async def report(database: Database, *, now: datetime, most: int) -> int:
    """Log the counts of hours that are over. Returns the number of counts that were read."""
    async with database.begin() as tx:
        counts = await login_attempts.take_failures(tx, before=_hour(now), most=most)
        for each in counts:
            more = max(each.failures - MOST_AN_HOUR, 0)
            if more or each.throttled:
                await audit_log.append(
                    tx,
                    Actor(each.name, ""),
                    f"{each.action}_often",
                    now=now,
                    merchant_id=each.merchant_id,
                    hour=each.hour.isoformat(),
                    failures=more,
                    throttled=each.throttled,
                )
    return len(counts)


def _hour(now: datetime) -> datetime:
    return now - timedelta(minutes=now.minute, seconds=now.second, microseconds=now.microsecond)
