"""Codes that somebody has typed, checked against their second factor. Each works once, also if it comes twice at once.

An attempt is committed before the code is checked, so that many guesses at once are as many attempts. Codes of the app
are limited for the account, from wherever they come: six digits can be guessed. Recovery codes cannot, and are limited
by address (/64 of IPv6), so that nobody else can lock out who has one.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from malipo.access import store as attempts
from malipo.access.failed_logins import FailedLogins
from malipo.access.login_attempts import counted_address
from malipo.access.second_factor import recovery_codes, totp
from malipo.access.second_factor.owner import Owner
from malipo.access.second_factor.store import factors
from malipo.audit_log import store as audit_log
from malipo.db import Database, Tx
from malipo.encryption import Encryption
from malipo.errors import TooMany, Unauthorized

_SPAN = timedelta(hours=1)
_MOST = 10


@dataclass(frozen=True, slots=True)
class Typed:
    """A code of the app, or a recovery code. If there are both, the recovery code counts."""

    code: str = ""
    recovery_code: str = ""

    def __bool__(self) -> bool:
        return bool(self.code or self.recovery_code)


class CodeRequired(Unauthorized):
    code = "second_factor_required"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("This account has a second factor: send code or recoveryCode too.")


class WrongCode(Unauthorized):
    code = "second_factor_wrong"
    scheme = "Bearer"

    def __init__(self) -> None:
        super().__init__("The code is not right, or it was used already. Wait for the next one.")


class TooManyCodes(TooMany):
    code = "too_many_codes"


class Codes:
    def __init__(self, database: Database, encryption: Encryption) -> None:
        self._database = database
        self._encryption = encryption
        self._failed = FailedLogins(database, "code", "second_factor.code_failed")

    async def is_enrolled(self, account_id: str) -> bool:
        async with self._database.read() as connection:
            return await factors.find(connection, account_id) is not None

    async def check_if_enrolled(self, owner: Owner, typed: Typed, *, now: datetime) -> None:
        """Of somebody who confirms that it is them: without a second factor the password was enough."""
        if not await self.is_enrolled(owner.id):
            return
        if not typed:
            raise CodeRequired
        await self.check(owner, typed, now=now)

    async def check(self, owner: Owner, typed: Typed, *, now: datetime) -> None:
        """Use the code up, or refuse it."""
        subject = _subject(owner, typed)
        try:
            await self._note_attempt(subject, now)
        except TooManyCodes:
            await self._note_failure(owner, typed, is_throttled=True, now=now)
            raise
        async with self._database.begin() as tx:
            if await self._use(tx, owner, typed, now):
                await attempts.forget_all(tx, subject)
                return
        await self._note_failure(owner, typed, is_throttled=False, now=now)
        raise WrongCode

    async def _note_failure(self, owner: Owner, typed: Typed, *, is_throttled: bool, now: datetime) -> None:
        await self._failed.note(
            owner.id,
            owner.actor,
            merchant_id=owner.merchant_id,
            address=owner.actor.address,
            is_throttled=is_throttled,
            now=now,
            kind="recovery code" if typed.recovery_code else "code",
        )

    async def _note_attempt(self, subject: str, now: datetime) -> None:
        async with self._database.begin() as tx:
            free_at = await attempts.note(tx, [(subject, _MOST)], now=now, span=_SPAN)
        if free_at is not None:
            seconds = max(-int((now - free_at).total_seconds() // 1), 1)
            raise TooManyCodes(f"Too many wrong codes. Try again in {seconds} seconds.", retry_after_seconds=seconds)

    async def _use(self, tx: Tx, owner: Owner, typed: Typed, now: datetime) -> bool:
        if typed.recovery_code:
            return await self._use_recovery_code(tx, owner, typed.recovery_code, now)
        found = await factors.find(tx, owner.id)
        if found is None:
            return False
        secret = self._encryption.decrypt(found.secret, owner=owner.id)
        step = totp.step_of(secret, typed.code, now=now)
        return step is not None and await factors.use_step(tx, owner.id, found.secret, step)

    async def _use_recovery_code(self, tx: Tx, owner: Owner, code: str, now: datetime) -> bool:
        if not await factors.use_recovery_code(tx, owner.id, recovery_codes.hash_of(owner.id, code), now=now):
            return False
        found = await factors.find(tx, owner.id)
        assert found is not None
        await audit_log.append(
            tx,
            owner.actor,
            "second_factor.recovery_code_used",
            now=now,
            merchant_id=owner.merchant_id,
            left=found.recovery_codes_left,
        )
        return True


def _subject(owner: Owner, typed: Typed) -> str:
    if typed.recovery_code:
        return f"recovery code {owner.id} address {counted_address(owner.actor.address)}"
    return f"code {owner.id}"
