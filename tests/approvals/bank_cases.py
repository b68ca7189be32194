"""For each act about our own bank accounts, something that it can be done about: what the use case is given, and the words
of the command."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from malipo import clock
from malipo.app.assemble import Service
from malipo.approvals.act_rules import Act
from malipo.audit_log.actor import Actor
from malipo.bank import add_payer_account
from malipo.bank import approve as bank_approve
from malipo.bank.payer_account import PayerAccount
from malipo.bank.store import payer_accounts
from malipo.db import Database
from malipo_simulator.bank.bank import Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.approvals.grid import LIMIT, MORE
from tests.bank.bank_desk import WHY, BankDesk
from tests.conftest import make_merchant
from tests.settlement.settlement_steps import add_account


@dataclass
class BankCase:
    desk: BankDesk
    begin: Callable[..., Awaitable[bool]]  # whether it is done already
    subject: str = ""  # which an approval names; empty: only the proposal knows it
    words: list[str] = field(default_factory=list)  # after the command by which it begins
    typed: list[tuple[str, str]] = field(default_factory=list)  # into the form of the page by which it begins
    file: Path | None = None  # a statement that is not imported yet

    async def approve(self, **how: Any) -> object:
        async with self.desk.database.begin() as tx:
            subject = self.subject or await tx.fetchval("SELECT subject FROM proposals WHERE decided_at IS NULL")
            return await bank_approve.approve(tx, subject, reference_prefix="MLP", **how)


async def bank_case(service: Service, database: Database, folder: Path, act: Act) -> BankCase:
    """A new one, with a merchant and an account of ours that no other case has."""
    mark = secrets.token_hex(4)
    desk = await _desk(service, database, folder, mark, has_account=act is not Act.ADD_PAYER_ACCOUNT)
    match act:
        case Act.ADD_PAYER_ACCOUNT:
            return _add_account(desk)
        case Act.APPROVE_PAYOUT_FILE:
            await desk.requested(MORE)
            return BankCase(
                desk,
                lambda by: _waits(desk.gather(by)),
                words=["--account", desk.bank.account],
                typed=[("account", desk.bank.account)],
            )
        case Act.VOID_PAYOUT_FILE:
            file, _ = await desk.approved(MORE)
            said = f"{WHY}: {file.message_id} refused"
            return BankCase(
                desk,
                lambda by: _waits(desk.void(file.id, refused=said, by=by)),
                file.id,
                [file.id, "--refused", "--reason", said],
                [("why", "refused"), ("reason", said)],
            )
        case Act.REFUSE_TRANSFERS:
            file, [settlement] = await desk.approved(MORE)
            return BankCase(
                desk,
                lambda by: _waits(desk.refuse(file.id, settlement.key, by=by)),
                file.id,
                [file.id, settlement.key, "--reason", WHY],
                [("transfer", settlement.id), ("reason", WHY)],
            )
        case Act.IMPORT_BANK_STATEMENT:
            file, _ = await desk.approved(MORE)
            await desk.hand_in(file.id)
            return _import(desk, mark)
        case Act.WITHDRAW_BANK_STATEMENT:
            desk.move(700, "GIFT")
            statement = (await desk.bring(desk.today)).statement
            return BankCase(
                desk,
                lambda by: _waits(desk.withdraw(statement.id, by)),
                statement.id,
                [statement.id, "--reason", WHY],
                [("reason", WHY)],
            )
    return await _decide(desk, act)


async def _desk(service: Service, database: Database, folder: Path, mark: str, *, has_account: bool) -> BankDesk:
    merchant = await make_merchant(database, wallet=10_000, name=f"Duka {mark}")
    now = clock.now()
    account = await add_account(database, merchant.id, now=now, number=f"01{mark}")
    desk = BankDesk(service, database, merchant, account, folder, Bank(account=f"22{mark}"), limit=LIMIT)
    if has_account:
        ours = PayerAccount(id=f"pya_{mark}", bic=desk.bank.bic, number=desk.bank.account, name=desk.bank.name)
        async with database.begin() as tx:
            await payer_accounts.put(tx, ours, added_by="operator a", approved_by="operator b", now=now)
    return desk


async def _waits(act: Awaitable[object]) -> bool:
    await act
    return False


def _add_account(desk: BankDesk) -> BankCase:
    bank = desk.bank
    account = PayerAccount(bic=bank.bic, number=bank.account, name=bank.name)

    async def begin(by: Actor) -> bool:
        async with desk.database.begin() as tx:
            await add_payer_account.propose(tx, account, actor=by, now=clock.now())
        return False

    typed = [("number", bank.account), ("bic", bank.bic), ("name", bank.name)]
    return BankCase(desk, begin, bank.account, [bank.account, "--bic", bank.bic, "--name", bank.name], typed)


def _import(desk: BankDesk, mark: str) -> BankCase:
    path = desk.folder / f"{mark}.xml"
    path.write_bytes(FORMATS["camt053"][1](desk.bank, desk.today, desk.today))

    async def begin(by: Actor, **how: Any) -> bool:
        return (await desk.bring_file(path, by=by, **how)).proposal is None

    return BankCase(desk, begin, words=[str(path)], file=path)


async def _decide(desk: BankDesk, act: Act) -> BankCase:
    how: dict[str, Any]
    match act:
        case Act.BOOK_BANK_LINE:
            desk.move(-MORE, "RENT")
            action, how, words = "book", {"account": "suspense"}, ["--account", "suspense"]
            typed = [("account", "suspense")]
        case Act.MATCH_BANK_LINE:
            file, [settlement] = await desk.approved(MORE)
            await desk.hand_in(file.id)
            await desk.bring(desk.today, limit=10 * MORE)
            desk.move(MORE, "BACK")
            action, how = "match", {"settlement_ids": (settlement.id,)}
            words, typed = ["--settlement", settlement.id], [("settlements", settlement.reference)]
        case _:
            assert act is Act.ADOPT_SETTLEMENT
            desk.move(-MORE, "LOST", key=f"9ZZZZZZZ{secrets.token_hex(4).upper()}")
            action, how = "adopt", {"merchant_id": desk.merchant.id}
            words, typed = ["--merchant", desk.merchant.id], [("merchant", desk.merchant.id)]
    await desk.bring(desk.today)
    [found] = [each for each in await desk.exceptions() if each.line.reference in ("RENT", "BACK", "LOST")]

    async def begin(by: Actor, **more: Any) -> bool:
        return (await desk.decide(found, action, by=by, **how, **more)).is_done

    typed += [("action", action), ("reason", WHY)]
    return BankCase(desk, begin, found.id, [found.id, action, *words, "--reason", WHY], typed)
