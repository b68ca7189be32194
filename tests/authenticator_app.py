"""An authenticator app on somebody's telephone, and the recovery codes that they have kept."""

from dataclasses import dataclass

from malipo import clock
from malipo.accounts.account import AccountOwner
from malipo.accounts.second_factor import enrol, totp
from malipo.db import Database
from malipo.encryption import Encryption
from tests.conftest import NOBODY, SECRET_KEY


@dataclass
class AuthenticatorApp:
    database: Database
    account_id: str
    secret: str
    recovery_codes: list[str]

    def code(self, steps: int = 0) -> str:
        """The one that it shows now, or so many steps from now."""
        return totp.code_at(self.secret, totp.step_at(clock.now()) + steps)

    def wrong_code(self) -> str:
        """Six digits that it does not show now, nor soon."""
        shown = {self.code(steps) for steps in range(-3, 4)}
        return next(code for code in (f"{number:06}" for number in range(100)) if code not in shown)

    async def wait(self) -> None:
        """Until every code that is shown is new again: as if nothing had been used yet."""
        async with self.database.begin() as tx:
            await tx.execute("UPDATE second_factors SET last_step = 0 WHERE account_id = $1", self.account_id)


async def enrolled(database: Database, account_id: str, *, secret_key: str = SECRET_KEY) -> AuthenticatorApp:
    """Somebody has set it up a while ago."""
    secret, now = totp.new_secret(), clock.now()
    owner = AccountOwner(account_id, "somebody", NOBODY)
    async with database.begin() as tx:
        codes = await enrol.enrol(
            tx,
            owner,
            secret,
            totp.code_at(secret, totp.step_at(now)),
            encryption=Encryption(secret_key),
            now=now,
        )
    app = AuthenticatorApp(database, account_id, secret, codes)
    await app.wait()
    return app
