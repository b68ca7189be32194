"""Two operators who pay settlements: they gather and approve files, hand them in, import the bank's statements, and
decide what these leave open. Now and then one hands a file in twice by mistake.

What the bank has answered they remember. Which file is still to be handed in, the database tells them: one that it says
nobody has downloaded they hand in, although they may have before a restore.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from malipo import clock
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import (
    approve,
    decide_exception,
    gather_payout_file,
    import_statement,
    void_payout_file,
    withdraw_statement,
)
from malipo.bank.decide_exception import BankAction, LineTerms
from malipo.bank.gather_payout_file import Download
from malipo.bank.line_decision import BankExceptionKind
from malipo.bank.payout_file import FileRefusal, FileStatus, PayoutFile
from malipo.bank.read_statement import read_file
from malipo.bank.store import lines as bank_lines
from malipo.bank.store import payer_accounts, payout_files, statements
from malipo.bank.store.lines import BankException
from malipo.db import Database, Tx
from malipo.errors import Impossible, Refusal
from malipo.ledger.accounts import Account
from malipo.settlement import release
from malipo.settlement.operator_acts import DecidedAct, SettlementActs
from malipo.settlement.store import bank_accounts
from malipo_simulator.bank import order_file
from malipo_simulator.bank.bank import Bank, TakenFile
from malipo_simulator.bank.statement_formats import FORMATS
from simulation.settlements.accounts import PAYER, number_of
from simulation.settlements.planned import PlannedSettlements
from simulation.template import SimulatedMerchant

PROCESS = "treasury"
_HAWA, _NEEMA = (Actor(f"operator {name}", "simulation") for name in ("hawa", "neema"))
_APPROVAL_AMOUNT = 1000  # so small that statements wait for the second operator
_LOOK_SECONDS = 2.5
_HAS_OPEN = "SELECT EXISTS (SELECT FROM settlements WHERE payout_file_id = $1 AND status = 'SENT')"
_WORKERS_HAVE_LOOKED = "UPDATE worker_send_counts SET look_count = look_count + 3, seen_at = now()"
_WHY = "The statement of the bank for these days"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_WAIT = timedelta(hours=72)  # of a verified account
_SUFFIXES = {"camt053": "xml", "mt940": "sta", "csv": "csv"}


@dataclass(frozen=True)
class HandedIn:
    """A file that was given to the bank."""

    file_id: str
    message_id: str
    taken: TakenFile
    names: dict[str, str]  # by key: the holder of each account, in the treasurers' copy

    @property
    def paid_keys(self) -> list[str]:
        """Of transfers that the bank has not refused."""
        return [key for key in self.names if key not in self.taken.refused]


class Treasury:
    def __init__(
        self, planned: PlannedSettlements, accounts: Sequence[SimulatedMerchant], bank: Bank, folder: Path
    ) -> None:
        self._planned = planned
        self._accounts = accounts
        self.bank = bank
        self._folder = folder
        self.handed_in: list[HandedIn] = []
        self.twice_by_mistake: set[str] = set()  # MsgIds
        self.acts: list[tuple[datetime, str]] = []
        self._exported = 0
        self._usable_from = {number_of(merchant): _LONG_AGO for merchant in range(len(accounts))}
        self.troubles: list[str] = []  # what files of ours must never say
        self._prepare_bank()
        self._database: Database | None = None
        self.is_closed = False  # until the days after the run

    def _prepare_bank(self) -> None:
        planned, accounts = self._planned.bank, self._planned.accounts
        self.bank.change(
            {
                "booksOneSum": planned.books_one_sum,
                "listsParts": planned.lists_parts,
                "chargeCents": planned.charge_cents,
                "refuseAccounts": {
                    number_of(each.merchant): "AC04 closed" for each in accounts if each.behaviour == "refused"
                },
                "returnAccounts": {
                    number_of(each.merchant): each.returned_after for each in accounts if each.behaviour == "returned"
                },
            }
        )

    async def open(self, url: str) -> None:
        self._database = Database(url, size=1)
        await self._database.open()

    async def work(self) -> None:
        """In the run: they send what is due, and hand it in."""
        assert self._database is not None
        while not self.is_closed:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self.send_due(self._database)
            except Exception as error:  # The database may be away; they look again.
                self._note(f"could not look: {type(error).__name__}: {error}")

    # Files to the bank.

    async def send_due(self, database: Database) -> None:
        """Gather what is due, approve it, and hand it in. What an earlier try has approved is handed in too. On the
        days after the run some wait a day with it: a backup of the morning has the file, and not that it was handed in.
        """
        is_late = self.is_closed and self._planned.days.is_handed_in_late
        if is_late:
            await self.hand_in_approved(database)
        gathered = await self._try(
            database, "gathers", lambda tx: gather_payout_file.gather(tx, actor=_HAWA, now=clock.now())
        )
        if gathered is not None:
            await self._approve(database, gathered.proposal.id)
        if not is_late:
            await self.hand_in_approved(database)

    async def hand_in_approved(self, database: Database) -> None:
        known = {each.file_id for each in self.handed_in}
        async with database.read() as connection:
            files = await payout_files.find(connection)
        for file in reversed(files):
            if file.status is FileStatus.GATHERED and not await self._approve(database, file.id):
                await self._reject_empty(database, file.id)
        async with database.read() as connection:
            files = await payout_files.find(connection)
        for file in reversed(files):
            if file.status is FileStatus.APPROVED and (file.id not in known or file.downloaded_at is None):
                await self._hand_in(database, file.id)

    async def _reject_empty(self, database: Database, file_id: str) -> None:
        """Of a file that could not be approved because nothing of it is left, settlements wait for another one."""
        if self.acts[-1][1].endswith(FileRefusal.NOTHING_LEFT):
            await self._try(database, "rejects", lambda tx: approve.reject(tx, file_id, actor=_NEEMA, now=clock.now()))

    async def _download(self, database: Database, file_id: str) -> Download | None:
        """None also if a worker's mark must first have that they have asked for it: they ask again."""
        found: Download | None = await self._try(
            database, "downloads", lambda tx: gather_payout_file.download(tx, file_id, actor=_NEEMA, now=clock.now())
        )
        return found

    async def _hand_in(self, database: Database, file_id: str) -> None:
        download = await self._download(database, file_id)
        if download is None and self.is_closed:  # On the days after the run no worker runs, and none is killed.
            async with database.begin() as tx:
                await tx.execute(_WORKERS_HAVE_LOOKED)
            download = await self._download(database, file_id)
        if download is None:
            return
        in_order = list(dict.fromkeys(each.file_id for each in self.handed_in))
        is_first = file_id not in in_order
        number = len(in_order) if is_first else in_order.index(file_id)
        times = 2 if is_first and number in self._planned.days.handed_in_twice else 1
        bank = self._planned.bank
        self.bank.change(
            {
                "losesFiles": number == bank.loses_file,
                "refuseFiles": "AM04 no cover" if number == bank.refuses_file else "",
            }
        )
        transfers = order_file.read(download.content).lines
        for each in transfers:
            usable_from = self._usable_from.get(each.account)
            if usable_from is None or clock.now() < usable_from:
                self.troubles.append(f"{each.end_to_end} goes to {each.account}, which may be used from {usable_from}")
        names = {each.end_to_end: each.name for each in transfers}
        for _ in range(times):
            taken = self.bank.take(download.content, clock.day_of(clock.now()))
            if times > 1:
                self.twice_by_mistake.add(taken.message_id)
            self.handed_in.append(HandedIn(file_id, taken.message_id, taken, names))
            self._note(f"hands in {taken.message_id}: {taken.status} {taken.reason}".rstrip())

    async def settle_answers(self, database: Database) -> None:
        """What the bank says of files at once: refused whole, or some of their transfers."""
        for each in self.handed_in:
            if each.taken.status == "RJCT" and not each.taken.refused:
                reason = f"The bank has refused {each.message_id}: {each.taken.reason}"
                await self._void(database, each, is_refused=True, reason=reason)
            elif each.taken.refused:
                await self._note_refused(database, each)

    async def _note_refused(self, database: Database, handed_in: HandedIn) -> None:
        if await self._find_open(database, handed_in.message_id) is None:
            return
        keys = list(handed_in.taken.refused)
        reason = f"The bank's answer to {handed_in.message_id} lists them"
        proposal = await self._try(
            database,
            "notes refused transfers",
            lambda tx: void_payout_file.propose_refusal(
                tx, handed_in.message_id, keys, reason=reason, actor=_HAWA, now=clock.now()
            ),
        )
        await self._second(database, proposal)

    async def _find_open(self, database: Database, message_id: str) -> PayoutFile | None:
        """The file, if some of its settlements are sent and have not ended."""
        async with database.read() as connection:
            file = await payout_files.get(connection, message_id)
            is_open = file is not None and await connection.fetchval(_HAS_OPEN, file.id)
        return file if is_open else None

    async def void_lost(self, database: Database) -> None:
        """Files that the bank has taken and never booked: as soon as statements of the days after say so."""
        for each in self.handed_in:
            if each.taken.status == "ACCP":
                await self._void(database, each, is_refused=False, reason=_WHY)

    async def _void(self, database: Database, handed_in: HandedIn, *, is_refused: bool, reason: str) -> None:
        file = await self._find_open(database, handed_in.message_id)
        if file is None:
            return
        proposal = await self._try(
            database,
            f"voids {handed_in.message_id}",
            lambda tx: void_payout_file.propose(
                tx, file.id, is_refused=is_refused, reason=reason, actor=_HAWA, now=clock.now()
            ),
        )
        await self._second(database, proposal)

    # Statements.

    async def import_days(self, database: Database, first: date, last: date) -> str | None:
        """The statement of these days; its id, or None if it is refused."""
        name = self._planned.days.formats[self._exported % len(self._planned.days.formats)]
        self._exported += 1
        path = self._folder / f"{first}-{last}-{self._exported}.{_SUFFIXES[name]}"
        path.write_bytes(FORMATS[name][1](self.bank, first, last))
        return await self.import_file(database, path)

    async def import_file(self, database: Database, path: Path) -> str | None:
        async with database.read() as connection:
            accounts = await payer_accounts.find_all(connection)
        try:
            [read] = read_file(path, accounts, number=PAYER)
        except (Refusal, Impossible) as error:
            self._note(f"cannot read {path.name}: {error}")
            return None
        imported = await self._try(
            database,
            f"imports {path.name}",
            lambda tx: import_statement.import_statement(
                tx, read, approval_amount=_APPROVAL_AMOUNT, actor=_HAWA, now=clock.now()
            ),
        )
        if imported is None:
            return None
        await self._second(database, imported.proposal)
        return str(imported.statement.id)

    async def withdraw(self, database: Database, statement_id: str) -> None:
        proposal = await self._try(
            database,
            "withdraws a statement",
            lambda tx: withdraw_statement.propose(tx, statement_id, reason=_WHY, actor=_HAWA, now=clock.now()),
        )
        await self._second(database, proposal)

    # What statements leave open.

    async def decide_all(self, database: Database) -> None:
        async with database.read() as connection:
            open_ = await bank_lines.find_open_exceptions(connection)
        for each in open_:
            terms = await self._terms(database, each)
            if terms is not None:
                await self._decide(database, each, terms)

    async def _decide(self, database: Database, exception: BankException, terms: LineTerms) -> None:
        decided = await self._try(
            database, f"decides {exception.kind}: {terms.action}", lambda tx: self._begin(tx, exception, terms)
        )
        if decided is not None and not decided.is_done:
            await self._second(database, decided.proposal)

    async def _begin(self, tx: Tx, exception: BankException, terms: LineTerms) -> Any:
        return await decide_exception.begin(
            tx,
            exception.id,
            terms,
            reason=_WHY,
            approval_amount=_APPROVAL_AMOUNT,
            reference_prefix="MLP",
            actor=_HAWA,
            now=clock.now(),
        )

    async def _terms(self, database: Database, exception: BankException) -> LineTerms | None:
        """What is to be done about a line, by what the treasurers know of their files; None: it stays open."""
        line = exception.line
        of_sum = next((each for each in self.handed_in if each.message_id in (line.key, line.message_id)), None)
        match exception.kind:
            case BankExceptionKind.UNKNOWN_KEY if (merchant := self._merchant_of(line.key)) is not None:
                return LineTerms(action=BankAction.ADOPT, merchant_id=merchant, key=line.key)
            case BankExceptionKind.NOT_SENT if self._merchant_of(line.key) is not None:
                return await self._adopting(database, [line.key])
            case BankExceptionKind.UNKNOWN_KEY | BankExceptionKind.UNKNOWN_DEBIT if of_sum is not None:
                # Of a file that is lost, the bank says only the sum. If its merchants have asked again, it is theirs.
                terms = await self._adopting(database, of_sum.paid_keys)
                if terms is None and len(of_sum.paid_keys) == 1:
                    [key] = of_sum.paid_keys
                    return LineTerms(action=BankAction.ADOPT, merchant_id=self._merchant_of(key) or "", key=key)
                return terms
            case BankExceptionKind.UNKNOWN_DEBIT if "CHARGES" in line.details:
                return LineTerms(action=BankAction.BOOK, account=Account.BANK_CHARGES)
        return None

    async def _adopting(self, database: Database, keys: Sequence[str]) -> LineTerms | None:
        async with database.read() as connection:
            rows = await connection.fetch("SELECT id FROM settlements WHERE key = ANY($1) ORDER BY id", list(keys))
        ids = tuple(row["id"] for row in rows)
        return LineTerms(action=BankAction.ADOPT, settlement_ids=ids) if len(ids) == len(keys) else None

    def _merchant_of(self, key: str) -> str | None:
        """Whose account a transfer went to, by the treasurers' copies of their files."""
        name = next((each.names[key] for each in self.handed_in if key in each.names), None)
        return None if name is None else self._accounts[int(name.rpartition(" ")[2]) - 1].id

    async def release(self, database: Database) -> None:
        """After a restore: as soon as statements cover what was lost."""
        async with database.read() as connection:
            if await release.is_released(connection):
                return
        await self._act_by_two(
            database, "releases settlements", partial(self._desk.release, evidence=_WHY, actor=_HAWA)
        )

    async def collect_debts(self, database: Database) -> None:
        """What wallets owe of adopted settlements, as far as they have it."""
        async with database.read() as connection:
            rows = await connection.fetch("SELECT id FROM settlements WHERE owed > 0 ORDER BY id")
        for row in rows:
            await self._act_by_two(
                database,
                "collects a debt",
                partial(self._desk.collect, settlement_id=row["id"], evidence=_WHY, is_waived=False, actor=_HAWA),
            )

    async def verify_accounts(self, database: Database) -> None:
        async with database.read() as connection:
            unverified = await bank_accounts.find_unverified(connection)
        for each in unverified:
            # What they have verified before a restore, they verify again.
            self._usable_from[each.account_number] = clock.now() + _WAIT
            await self._act_by_two(
                database,
                "verifies an account",
                partial(self._desk.verify, account_id=each.id, evidence=_WHY, actor=_HAWA),
            )

    @property
    def _desk(self) -> SettlementActs:
        return SettlementActs(_WAIT)

    async def _act_by_two(self, database: Database, what: str, propose: Callable[..., Awaitable[DecidedAct]]) -> None:
        proposed = await self._try(database, what, lambda tx: propose(tx, now=clock.now()))
        if proposed is not None:
            await self._try(
                database,
                f"approves: {what}",
                lambda tx: self._desk.approve(tx, proposed.subject, actor=_NEEMA, now=clock.now()),
            )

    async def taken_statements(self, database: Database) -> list[str]:
        async with database.read() as connection:
            return [each.id for each in await statements.find_taken(connection)]

    # How they act.

    async def _approve(self, database: Database, name: str) -> bool:
        done = await self._try(
            database,
            "approves",
            lambda tx: approve.approve(tx, name, reference_prefix="MLP", actor=_NEEMA, now=clock.now()),
        )
        return done is not None

    async def _second(self, database: Database, proposal: Proposal | None) -> None:
        """Another operator approves; what is refused by then is rejected, so that it can be decided anew."""
        if proposal is None or await self._approve(database, proposal.id):
            return
        await self._try(database, "rejects", lambda tx: approve.reject(tx, proposal.id, actor=_NEEMA, now=clock.now()))

    async def _try(self, database: Database, what: str, act: Callable[[Tx], Awaitable[Any]]) -> Any:
        """What came of it; None if it is refused."""
        try:
            async with database.begin() as tx:
                done = await act(tx)
        except (Refusal, Impossible) as error:
            self._note(f"{what}: {getattr(error, 'code', '') or error}")
            return None
        self._note(what)
        return done

    def _note(self, what: str) -> None:
        self.acts.append((clock.now(), what))
