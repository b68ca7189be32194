"""Checks entered codes against the account's second factor. Each code works once, even if it arrives twice at the same
time.

An attempt is committed before the code is checked, so that concurrent guesses all count.

Six digits can be guessed, so attempts with codes of the app are limited for each account. But a thief of the password
must not be able to lock the owner out. So each known browser is counted separately, and each other address (/64 of
IPv6) has a limit of its own, below the limit of all other places together. A guesser in unknown places has 40 guesses a
day, and 3 codes of a million are valid at a time: even odds after 16 years. Recovery codes cannot be guessed, and are
limited by address alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo.accounts.account import AccountOwner
from malipo.accounts.failed_login_audit import FailedLogins
from malipo.accounts.known_browsers import Browser
from malipo.accounts.login_attempts import counted_address
from malipo.accounts.second_factor import recovery_codes, totp
from malipo.accounts.store import browsers, login_attempts, second_factors
from malipo.audit_log import store as audit_log
from malipo.db import Database, Tx
from malipo.encryption import Encryption
from malipo.errors import TooMany, Unauthorized

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_MOST_RECOVERY_CODES = 10  # from one address in an hour
# Codes of the app, in an hour and in a day.
MOST_IN_KNOWN_BROWSER = (10, 40)
MOST_FROM_ADDRESS = (5, 10)
MOST_ELSEWHERE_A_DAY = 40  # outside of known browsers
_A_PROGRAM = Browser()


class _Limit(NamedTuple):
    """The allowed number of attempts for a subject within a span."""

    subject: str
    most: int
    span: timedelta


@dataclass(frozen=True, slots=True)
class TypedCode:
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


class CodeChecker:
    def __init__(self, database: Database, encryption: Encryption, *, is_command_line: bool = False) -> None:
        self._database = database
        self._encryption = encryption
        # Counted separately from the pages, which strangers can reach, so that they cannot lock an operator out of the
        # command line.
        self._kind = "code at the command line" if is_command_line else "code"
        self._failed = FailedLogins(database, "code", "second_factor.code_failed")

    async def is_enrolled(self, account_id: str) -> bool:
        async with self._database.read() as connection:
            return await second_factors.find(connection, account_id) is not None

    async def check_if_enrolled(
        self, owner: AccountOwner, typed: TypedCode, *, now: datetime, browser: Browser = _A_PROGRAM
    ) -> None:
        """Check the code of a person who confirms an act. Without a second factor the password is enough."""
        if not await self.is_enrolled(owner.id):
            return
        if not typed:
            raise CodeRequired
        await self.check(owner, typed, now=now, browser=browser)

    async def check(
        self, owner: AccountOwner, typed: TypedCode, *, now: datetime, browser: Browser = _A_PROGRAM
    ) -> None:
        """Use up the code, or refuse it."""
        own, *shared = await self._limits(owner, typed, browser)
        try:
            await self._note_attempt([own, *shared], now)
        except TooManyCodes:
            await self._note_failure(owner, typed, is_throttled=True, now=now)
            raise
        async with self._database.begin() as tx:
            if await self._use(tx, owner, typed, now):
                await login_attempts.forget_all(tx, own.subject)
                await login_attempts.forget_one(tx, [each.subject for each in shared], at=now)
                return
        await self._note_failure(owner, typed, is_throttled=False, now=now)
        raise WrongCode

    async def _note_failure(self, owner: AccountOwner, typed: TypedCode, *, is_throttled: bool, now: datetime) -> None:
        await self._failed.note(
            owner.id,
            owner.actor,
            merchant_id=owner.merchant_id,
            address=owner.actor.address,
            is_throttled=is_throttled,
            now=now,
            kind="recovery code" if typed.recovery_code else "code",
        )

    async def _limits(self, owner: AccountOwner, typed: TypedCode, browser: Browser) -> list[_Limit]:
        """The limits of an attempt. The first is for this place alone."""
        place = f"address {counted_address(owner.actor.address)}"
        if typed.recovery_code:
            return [_Limit(f"recovery {self._kind} {owner.id} {place}", _MOST_RECOVERY_CODES, _HOUR)]
        if browser.hash is not None and await self._is_known(owner, browser.hash):
            subject, (hourly, daily) = f"{self._kind} {owner.id} browser {browser.hash.hex()}", MOST_IN_KNOWN_BROWSER
            return [_Limit(subject, hourly, _HOUR), _Limit(f"{subject} a day", daily, _DAY)]
        subject, (hourly, daily) = f"{self._kind} {owner.id} {place}", MOST_FROM_ADDRESS
        return [
            _Limit(subject, hourly, _HOUR),
            _Limit(f"{subject} a day", daily, _DAY),
            _Limit(f"{self._kind} {owner.id} elsewhere a day", MOST_ELSEWHERE_A_DAY, _DAY),
        ]

    async def _is_known(self, owner: AccountOwner, browser_hash: bytes) -> bool:
        async with self._database.read() as connection:
            return await browsers.is_known_to_account(connection, owner.id, browser_hash)

    async def _note_attempt(self, limits: Sequence[_Limit], now: datetime) -> None:
        """Count the attempt under each limit, the limit of this place first. An attempt that this one refuses does not
        count under the others."""
        async with self._database.begin() as tx:
            free_at = None
            for each in limits:
                free_at = free_at or await login_attempts.note(tx, [(each.subject, each.most)], now=now, span=each.span)
        if free_at is not None:
            seconds = max(-int((now - free_at).total_seconds() // 1), 1)
            raise TooManyCodes(f"Too many wrong codes. Try again in {seconds} seconds.", retry_after_seconds=seconds)

    async def _use(self, tx: Tx, owner: AccountOwner, typed: TypedCode, now: datetime) -> bool:
        if typed.recovery_code:
            return await self._use_recovery_code(tx, owner, typed.recovery_code, now)
        found = await second_factors.find(tx, owner.id)
        if found is None:
            return False
        secret = self._encryption.decrypt(found.secret, owner=owner.id)
        step = totp.step_of(secret, typed.code, now=now)
        return step is not None and await second_factors.use_step(tx, owner.id, found.secret, step)

    async def _use_recovery_code(self, tx: Tx, owner: AccountOwner, code: str, now: datetime) -> bool:
        if not await second_factors.use_recovery_code(tx, owner.id, recovery_codes.hash_of(owner.id, code), now=now):
            return False
        found = await second_factors.find(tx, owner.id)
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
