"""Enrols, removes and resets a second factor, and makes recovery codes anew.

The secret of an unfinished enrolment is not stored: the form contains it, encrypted for one account.
"""

import base64
import binascii
from datetime import datetime

from malipo.accounts.account import AccountOwner
from malipo.accounts.second_factor import recovery_codes, totp
from malipo.accounts.second_factor.check_code import WrongCode
from malipo.accounts.store import second_factors
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, plain_name
from malipo.db import Tx
from malipo.encryption import CannotDecrypt, Encryption
from malipo.errors import Code, Conflict, Invalid
from malipo.messages import write
from malipo.messages.kinds import MessageKind


class SecondFactorRefusal(Code):
    EXISTS = "second_factor_exists"
    MISSING = "second_factor_missing"
    PAGE_TOO_OLD = "enrolment_invalid"


class AlreadyEnrolled(Conflict):
    code = SecondFactorRefusal.EXISTS


class NotEnrolled(Conflict):
    code = SecondFactorRefusal.MISSING


class EnrolmentNotGood(Invalid):
    code = SecondFactorRefusal.PAGE_TOO_OLD


def carried(encryption: Encryption, account_id: str, secret: str) -> str:
    """The encrypted secret of an enrolment, for the form."""
    encrypted = encryption.encrypt(secret, owner=_form_of(account_id))
    return base64.urlsafe_b64encode(encrypted).decode()


def secret_in(encryption: Encryption, account_id: str, text: str) -> str:
    try:
        return encryption.decrypt(base64.urlsafe_b64decode(text.encode()), owner=_form_of(account_id))
    except (CannotDecrypt, binascii.Error, ValueError):
        raise EnrolmentNotGood from None


def _form_of(account_id: str) -> str:
    return f"enrolment of {account_id}"


async def enrol(
    tx: Tx, owner: AccountOwner, secret: str, code: str, *, encryption: Encryption, now: datetime
) -> list[str]:
    """Enrol, and return the recovery codes in clear text, only now. The code proves that the app has the secret."""
    step = totp.step_of(secret, code, now=now)
    if step is None:
        raise WrongCode
    if not await second_factors.insert(
        tx, owner.id, encryption.encrypt(secret, owner=owner.id), used_step=step, now=now
    ):
        raise AlreadyEnrolled
    await _note(tx, owner, "second_factor.enrolled", MessageKind.SECOND_FACTOR_ENROLLED, now)
    return await _new_recovery_codes(tx, owner)


async def make_recovery_codes(tx: Tx, owner: AccountOwner, *, now: datetime) -> list[str]:
    """Make a new set, and return it in clear text, only now. The previous set stops working."""
    if not await second_factors.lock(tx, owner.id):
        raise NotEnrolled
    await _note(tx, owner, "second_factor.recovery_codes_made", MessageKind.RECOVERY_CODES_MADE, now)
    return await _new_recovery_codes(tx, owner)


async def remove(tx: Tx, owner: AccountOwner, *, now: datetime) -> None:
    """Remove one's own second factor. The caller has checked the password and a code."""
    if not await second_factors.delete(tx, owner.id):
        raise NotEnrolled
    await _note(tx, owner, "second_factor.removed", MessageKind.SECOND_FACTOR_REMOVED, now)


async def reset(tx: Tx, owner: AccountOwner, *, actor: Actor, now: datetime) -> None:
    """Reset the second factor of a person who has lost the app and the recovery codes."""
    if not await second_factors.delete(tx, owner.id):
        raise NotEnrolled
    await audit_log.append(tx, actor, "second_factor.reset", now=now, merchant_id=owner.merchant_id, account=owner.name)
    facts = {"by": plain_name(actor.name), "happened_at": now.isoformat()}
    await write.to_account(tx, MessageKind.SECOND_FACTOR_RESET, owner.id, facts, now=now)


async def reencrypt(tx: Tx, encryption: Encryption) -> tuple[int, int]:
    """Encrypt every secret with the current key. Returns how many needed it, and how many there are."""
    found = await second_factors.find_secrets(tx)
    old = [(account_id, secret) for account_id, secret in found if not encryption.is_current(secret)]
    for account_id, secret in old:
        plain = encryption.decrypt(secret, owner=account_id)
        await second_factors.set_secret(tx, account_id, encryption.encrypt(plain, owner=account_id))
    return len(old), len(found)


async def _new_recovery_codes(tx: Tx, owner: AccountOwner) -> list[str]:
    codes = recovery_codes.new_codes()
    await second_factors.replace_recovery_codes(
        tx, owner.id, [recovery_codes.hash_of(owner.id, each) for each in codes]
    )
    return codes


async def _note(tx: Tx, owner: AccountOwner, action: str, kind: MessageKind, now: datetime) -> None:
    await audit_log.append(tx, owner.actor, action, now=now, merchant_id=owner.merchant_id)
    facts = {"address": owner.actor.address, "happened_at": now.isoformat()}
    await write.to_account(tx, kind, owner.id, facts, now=now)
