"""Gathers settlements that are due into a payout file, and approves it: made by one operator, approved by another.

Nothing of a gathered file can be paid. The approval looks at each settlement again, drops those that are not fit any
more, fixes the bytes and the MsgId, and sends the settlements. From then on money can leave, so every download has the
same bytes. The bytes leave only once the marks, by which a restored database is detected, have that somebody has asked
for them: so what nobody has asked for, nobody has (`void_payout_file`).
"""

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from malipo import clock, ids
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank import add_payer_account, proposals
from malipo.bank.payer_account import PayerAccount
from malipo.bank.payout_file import (
    ALLOWED,
    ID_PREFIX,
    IS_NOW,
    FileAct,
    FileLine,
    FileRefusal,
    FileStatus,
    PayoutFile,
    bytes_of,
    name_of,
    order_of,
)
from malipo.bank.proposals import ShownTerms
from malipo.bank.store import payer_accounts
from malipo.bank.store import payout_files as store
from malipo.bank_evidence.store import debits, holidays
from malipo.bank_formats.bank_text import bank_text
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Missing, ensure
from malipo.restore.store import send_counts
from malipo.settlement import payout_files, release
from malipo.settlement.manage_bank_accounts import MOST_HOLDER
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import bank_accounts, settlements

MOST_LINES = 1_000  # in one file
_MOST_LOOKED_AT = 10_000  # that wait: the unfit must not keep the others out
PAID_ALREADY = "paid"  # a line of the bank is perhaps of it, and it is not sent


class GatheredFile(NamedTuple):
    file: PayoutFile
    lines: list[FileLine]
    left_out: dict[str, str]  # settlements that wait and are not fit: why, by their id
    proposal: Proposal


class PayoutFileTerms(msgspec.Struct, frozen=True, kw_only=True):
    payer_account_id: str


class Download(NamedTuple):
    name: str
    content: bytes
    sha256: bytes


async def gather(
    tx: Tx, account_name: str = "", *, limit: int = MOST_LINES, actor: Actor, now: datetime
) -> GatheredFile:
    """Put what is due into a file of one of our accounts, the oldest first."""
    require_operator(actor)
    await payer_accounts.lock(tx)
    account = await add_payer_account.find(tx, account_name)
    due = await payout_files.due_for_file(tx, _MOST_LOOKED_AT)
    unfit = await _find_unfit(tx, [each.id for each in due], now=now)
    chosen = [each for each in due if each.id not in unfit][: min(limit, MOST_LINES)]
    if not chosen:
        raise Conflict(code=FileRefusal.NOTHING_DUE, left_out=len(unfit))
    file_id = ids.mint(ID_PREFIX, now)
    lines = await _lines(tx, file_id, chosen)
    file = PayoutFile(
        id=file_id,
        payer_account_id=account.id,
        status=FileStatus.GATHERED,
        line_count=len(lines),
        total=sum(each.amount for each in lines),
        gathered_by=actor.name,
        gathered_at=now,
    )
    await store.insert(tx, file, lines)
    await payout_files.mark_in_file(tx, [each.id for each in chosen], file_id)
    proposal = await proposals.propose(
        tx,
        Act.APPROVE_PAYOUT_FILE,
        file_id,
        PayoutFileTerms(payer_account_id=account.id),
        amount=file.total,
        actor=actor,
        now=now,
    )
    await audit_log.append(
        tx, actor, "bank.file_gathered", now=now, file=file_id, lines=file.line_count, amount=file.total
    )
    return GatheredFile(file, lines, unfit, proposal)


async def _lines(tx: Tx, file_id: str, chosen: Sequence[Settlement]) -> list[FileLine]:
    keys = {(each.merchant_id, each.bank_account_id) for each in chosen if each.bank_account_id is not None}
    accounts = await bank_accounts.find(tx, keys)
    found = []
    for each in chosen:
        assert each.bank_account_id is not None, "a fit settlement has a bank account"
        account = accounts[each.merchant_id, each.bank_account_id]
        found.append(
            FileLine(
                file_id=file_id,
                settlement_id=each.id,
                merchant_id=each.merchant_id,
                reference=each.reference,
                key=each.key,
                amount=each.net_amount,
                bic=account.bic,
                account=account.account_number,
                name=account.holder_name,
            )
        )
    return found


async def _find_unfit(tx: Tx, settlement_ids: Collection[str], *, now: datetime) -> dict[str, str]:
    """Which of these settlements must not be sent now, and why. It stays so until the commit."""
    return {
        **await payout_files.unfit_for_file(tx, settlement_ids, now=now),
        **await _find_paid(tx, settlement_ids),
    }


async def _find_paid(connection: Conn, settlement_ids: Collection[str]) -> dict[str, str]:
    known = [each.at_bank for each in await settlements.find(connection, settlement_ids)]
    return dict.fromkeys(await debits.find_perhaps_paid(connection, known), PAID_ALREADY)


async def facts(connection: Conn, proposal: Proposal, *, now: datetime) -> ShownTerms:
    """The file as it would be approved now: what is dropped is shown too."""
    file, account = await get_file(connection, proposal.subject), await _account(connection, proposal)
    lines = await store.find_lines(connection, file.id)
    ids_ = [each.settlement_id for each in lines]
    unfit = {**await payout_files.look_for_unfit(connection, ids_, now=now), **await _find_paid(connection, ids_)}
    sent = [each for each in lines if each.settlement_id not in unfit]
    terms = {
        "file": file.id,
        "account": account.number,
        "bank": account.bic,
        "format": account.format,
        "layout": _mark(account.payout_layout),
        "one_sum": account.books_one_sum,
        "urgent_above": account.urgent_above,
        "transfers": len(sent),
        "amount": sum(each.amount for each in sent),
        "gathered_by": file.gathered_by,
    }
    rows = [
        {
            "settlement": each.reference,
            "merchant": each.merchant_id,
            "amount": each.amount,
            "bank": each.bic,
            "account": each.account,
            "name": bank_text(each.name, MOST_HOLDER),  # as the file will say it
            "dropped": unfit.get(each.settlement_id),
        }
        for each in lines
    ]
    return ShownTerms(terms, rows)


def _mark(layout: str) -> str:
    return hashlib.sha256(layout.encode()).hexdigest()[:12] if layout else "malipo's own"


async def _account(connection: Conn, proposal: Proposal) -> PayerAccount:
    return await add_payer_account.find(connection, proposal.terms_as(PayoutFileTerms).payer_account_id)


async def apply(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    """The file is approved: its bytes are fixed, and its settlements are sent."""
    file, account = await get_file(tx, proposal.subject), await _account(tx, proposal)
    require_allowed(file, FileAct.APPROVE)
    await release.require_may_leave(tx)  # Before the release every line is unfit, and that is not the reason.
    if unknown := await release.count_unknown_debits(tx):
        # Perhaps settlements that a restored database does not know. Their merchants could ask for them again.
        raise Conflict(code=FileRefusal.UNKNOWN_DEBITS, count=unknown)
    lines = await store.find_lines(tx, file.id)
    unfit = await _find_unfit(tx, [each.settlement_id for each in lines], now=now)
    for why in sorted(set(unfit.values())):
        dropped = [id_ for id_, each in unfit.items() if each == why]
        await payout_files.leave_file(tx, dropped, file.id)
        await store.drop_lines(tx, file.id, dropped, why=why, now=now)
    sent = [each for each in lines if each.settlement_id not in unfit]
    if not sent:
        raise Conflict(code=FileRefusal.NOTHING_LEFT)
    banking_days = await holidays.find_banking_days(tx)
    message_id, pays_on = ids.suffix(now), banking_days.next(clock.day_of(now))
    content = bytes_of(account, order_of(account, sent, message_id=message_id, created_at=now, pays_on=pays_on))
    approved = msgspec.structs.replace(
        file,
        line_count=len(sent),
        total=sum(each.amount for each in sent),
        message_id=message_id,
        sha256=hashlib.sha256(content).digest(),
        pays_on=pays_on,
        approved_by=actor.name,
        approved_at=now,
    )
    await store.approve(tx, approved, content)
    written = await payout_files.mark_sent(tx, [each.settlement_id for each in sent], file.id, now=now)
    for each in written.unchanged:  # Its bytes are in the file, and it has ended.
        raise Conflict(code=FileRefusal.LINE_ENDED, file=file.id, name=each.reference)
    await audit_log.append(
        tx,
        actor,
        "bank.file_approved",
        now=now,
        file=file.id,
        message=message_id,
        lines=approved.line_count,
        amount=approved.total,
        dropped=sorted(unfit),
        proposed_by=proposal.requested_by,
    )


async def rejected(tx: Tx, proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    """The file is rejected before its approval: its settlements wait for another one."""
    file = await get_file(tx, proposal.subject)
    require_allowed(file, FileAct.REJECT)
    lines = await store.find_lines(tx, file.id)
    await payout_files.leave_file(tx, [each.settlement_id for each in lines], file.id)
    await store.void(tx, file.id, by=actor.name, why="rejected", now=now)


async def download(tx: Tx, name: str, *, actor: Actor, now: datetime) -> Download | None:
    """The bytes of an approved file, the same each time. Who had them is in the audit log.

    None: this is noted as the first time that somebody asks for them. They leave once the mark of a worker has that,
    about three seconds later; the caller commits, and asks again.
    """
    # A restore may have lost that it was handed in, and a bank pays a file that is handed in twice, twice.
    await release.require_may_leave(tx)
    await payer_accounts.lock(tx)  # It is not voided meanwhile.
    file = await get_file(tx, name)
    require_allowed(file, FileAct.DOWNLOAD)
    await _require_not_handed_in(tx, file)
    await _require_no_stopped_account(tx, file)
    if not await store.was_asked_for(tx, file.id):
        await store.note_looks(tx, file.id, await send_counts.hold_looks(tx))
    if not await send_counts.is_marked(tx, await store.get_looks(tx, file.id)):
        # A restore that loses the approval, or that the file has left, would not be noticed, and its settlements would
        # go into another file.
        return None
    content = await store.get_content(tx, file.id)
    sha256 = hashlib.sha256(content).digest()
    ensure(sha256 == file.sha256, "the bytes of a payout file have changed since its approval")
    await store.note_download(tx, file.id, now=now)
    await audit_log.append(tx, actor, "bank.file_downloaded", now=now, file=file.id, message=file.message_id)
    return Download(name_of(file, content), content, sha256)


async def _require_not_handed_in(tx: Tx, file: PayoutFile) -> None:
    """Refuse a file that by our books nobody has downloaded, and that the bank has perhaps paid from: a restore has
    lost that it was handed in, or another file that paid its settlements."""
    if file.downloaded_at is not None:
        return
    ended = await find_ended_unseen(tx, file)
    if ended is not None:
        raise Conflict(code=FileRefusal.HANDED_IN, file=file.id, name=ended)
    if lost := await release.count_lost_debits(tx):
        raise Conflict(code=FileRefusal.UNKNOWN_DEBITS, count=lost)


async def _require_no_stopped_account(tx: Tx, file: PayoutFile) -> None:
    """Refuse a file of which a transfer goes to a bank account that was stopped since: perhaps a thief has added it.
    Also if it was downloaded before: perhaps nobody has handed it in yet."""
    lines = await store.find_lines(tx, file.id)
    for each in await payout_files.sent_to_stopped(tx, [line.settlement_id for line in lines]):
        raise Conflict(code=FileRefusal.ACCOUNT_STOPPED, file=file.id, name=each.reference)
    # Perhaps that was stopped in the time which a restore has lost.
    for each in await payout_files.sent_to_held(tx, [line.settlement_id for line in lines]):
        raise Conflict(code=FileRefusal.ACCOUNT_HELD, file=file.id, name=each.reference)


async def find_stopped(connection: Conn, file: PayoutFile) -> list[Settlement]:
    """The settlements that an approved file sends to bank accounts which were stopped since."""
    if file.status is not FileStatus.APPROVED:
        return []
    lines = await store.find_lines(connection, file.id)
    return await payout_files.look_for_stopped(connection, [line.settlement_id for line in lines])


async def find_ended_unseen(connection: Conn, file: PayoutFile) -> str | None:
    """Of an approved file that by our books nobody has downloaded, what says that the bank knows it all the same: a
    settlement that has ended, or the file itself if a statement has its MsgId or a key of it. Else None."""
    if file.status is not FileStatus.APPROVED or file.downloaded_at is not None:
        return None
    lines = await store.find_lines(connection, file.id)
    for each in await settlements.find(connection, [line.settlement_id for line in lines]):
        if each.status is not SettlementStatus.SENT:
            return each.reference
    is_named = any(each.names_file for each in await store.find_traces(connection, file))
    return file.message_id if is_named else None


async def get_file(connection: Conn, name: str) -> PayoutFile:
    file = await store.get(connection, name)
    if file is None:
        raise Missing(code=FileRefusal.NO_SUCH, name=name)
    return file


def require_allowed(file: PayoutFile, act: FileAct) -> FileStatus:
    """The file's status after the act."""
    after = ALLOWED.get((file.status, act))
    if after is None:
        raise Conflict(code=IS_NOW[file.status], file=file.id)
    return after
