"""Adds one of our bank accounts, or changes how its files are written and read. Two operators agree on all of it."""

from datetime import datetime

import msgspec

from malipo import ids
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank import proposals
from malipo.bank.payer_account import ID_PREFIX, PayerAccount, PayerAccountRefusal, check, plain_number
from malipo.bank.proposals import ShownTerms
from malipo.bank.store import payer_accounts as store
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Missing


async def propose(tx: Tx, account: PayerAccount, *, actor: Actor, now: datetime) -> Proposal:
    require_operator(actor)
    await store.lock(tx)
    check(account)
    known = await _find_known(tx, account.number)
    if known is not None and msgspec.structs.replace(account, id=known.id, number=known.number) == known:
        raise Conflict(code=PayerAccountRefusal.SAME, number=account.number)
    return await proposals.propose(tx, Act.ADD_PAYER_ACCOUNT, account.number, account, amount=0, actor=actor, now=now)


async def facts(connection: Conn, proposal: Proposal) -> ShownTerms:
    account = proposal.terms_as(PayerAccount)
    known = await _find_known(connection, account.number)
    values = msgspec.structs.asdict(account)
    del values["id"]
    before = {} if known is None else msgspec.structs.asdict(known)
    changed = [
        {"changes": name, "from": before[name], "to": value}
        for name, value in values.items()
        if before and before[name] != value
    ]
    return ShownTerms(values, changed)


async def apply(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    account = check(proposal.terms_as(PayerAccount))
    known = await _find_known(tx, account.number)
    id_, number = (ids.mint(ID_PREFIX, now), account.number) if known is None else (known.id, known.number)
    account = msgspec.structs.replace(account, id=id_, number=number)
    await store.put(tx, account, added_by=proposal.requested_by, approved_by=actor.name, now=now)
    await audit_log.append(
        tx,
        actor,
        "bank.account_added",
        now=now,
        account=account.number,
        bic=account.bic,
        name=account.name,
        format=account.format,
        proposed_by=proposal.requested_by,
    )


async def find(connection: Conn, name: str = "") -> PayerAccount:
    """Our account with this number or id; without a name, the only one."""
    accounts = await store.find_all(connection)
    if not name and len(accounts) == 1:
        return accounts[0]
    if not name:
        code = PayerAccountRefusal.SEVERAL if accounts else PayerAccountRefusal.NO_SUCH
        raise Missing(code=code, name="", known=[each.number for each in accounts])
    for each in accounts:
        if name == each.id or plain_number(name) == plain_number(each.number):
            return each
    raise Missing(code=PayerAccountRefusal.NO_SUCH, name=name, known=[each.number for each in accounts])


async def _find_known(connection: Conn, number: str) -> PayerAccount | None:
    accounts = await store.find_all(connection)
    return next((each for each in accounts if plain_number(each.number) == plain_number(number)), None)
