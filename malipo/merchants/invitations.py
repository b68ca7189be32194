"""Adds a person and makes the link for their first password.

An email has one account in the whole service, so a refusal shows an owner that an email has an account, also at another
merchant. That cannot be hidden, because a person who was added gets a link. But refusals are counted like log-in
attempts, so that nobody can try a list of emails.
"""

from datetime import datetime

from malipo.accounts.login_attempts import LoginAttempts
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx, retry
from malipo.merchants import manage_people
from malipo.merchants.manage_people import EmailTaken
from malipo.merchants.password_links import mail_link, make_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store.sessions import MerchantSession
from malipo.messages.store import choices


class Invitations:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._attempts = LoginAttempts(database, "adding")

    async def invite(
        self,
        session: MerchantSession,
        *,
        email: str,
        name: str,
        role: Role,
        actor: Actor,
        now: datetime,
        by_mail: bool = False,
        language: str | None = None,
    ) -> tuple[Person, str | None]:
        """Add a person. Returns the link, unless it is sent by e-mail. `language`: of the person's messages, until the
        person chooses another."""
        merchant_id = session.person.merchant_id

        async def act(tx: Tx) -> tuple[Person, str | None]:
            person = await manage_people.add_person(
                tx, merchant_id, email=email, name=name, role=role, actor=actor, now=now
            )
            if language is not None:
                await choices.set_language(tx, person.id, language)
            if not by_mail:
                return person, await make_link(tx, person, actor=actor, session=session, now=now)
            await mail_link(tx, person, business=session.business, actor=actor, session=session, now=now)
            return person, None

        await self._attempts.note(merchant_id, actor.address, now=now)
        try:
            invited = await retry.write(self._database, act)
        except EmailTaken:
            raise  # The attempt stays counted.
        except Exception:
            await self._attempts.take_back(merchant_id, actor.address, now=now)
            raise
        await self._attempts.take_back(merchant_id, actor.address, now=now)
        return invited
