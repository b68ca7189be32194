"""Operators get roles: at once, as a test needs it, or as two of them give one."""

from malipo import clock
from malipo.approvals import role_approval
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.operators import store as operators
from malipo.operators.roles import Role

REASON = "The auditors of this year"


async def give(database: Database, name: str, role: Role) -> None:
    async with database.begin() as tx:
        operator = await operators.find_operator(tx, name)
        assert operator is not None
        await operators.set_role(tx, operator.id, role)


async def request(database: Database, name: str, role: Role, *, by: Actor, alone: bool = False) -> Proposal | None:
    async with database.begin() as tx:
        return await role_approval.request(tx, name, role, REASON, actor=by, now=clock.now(), is_single_operator=alone)


async def approve(database: Database, name: str, *, by: Actor) -> Role:
    async with database.begin() as tx:
        return await role_approval.approve(tx, name, actor=by, now=clock.now())


async def role_of(database: Database, name: str) -> Role:
    async with database.read() as connection:
        operator = await operators.find_operator(connection, name)
    assert operator is not None
    return operator.role
