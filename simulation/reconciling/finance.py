"""Two operators who import the networks' statements, match them, and withdraw them: the one place where that is done.

Now and then a file is given to another account or to another network. The service refuses it, or they find out and
withdraw it. That an account is new they say only before its first file, mostly when they are asked.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.errors import Conflict, Impossible, Refusal
from malipo.networks.connector import Channel
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.reconciliation.imports.refuse_conflicting_file import AgainstAnother, NothingKnown
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.match_statements import match_statements
from malipo.reconciliation.matching.report_evidence import approve_import
from malipo.reconciliation.statements.choose_profile import choose_profile
from malipo_simulator.transaction import GatewayName
from simulation.plan import Plan
from simulation.reconciling.statement_files import GENERIC, PORTAL, WEEK, Layout, StatementFiles, channel_of
from simulation.world import World

_APPROVAL_AMOUNT = 2000  # so small that lists wait for the second operator
_OPERATOR, _SECOND = Actor("operator finance", "statements"), Actor("operator juma", "statements")
_WHY = "It is the statement of another account"
_CLICKPESA = "clickpesa"
ELSEWHERE = "utility"  # another account of the same network, as a mistaken operator calls it
_SAYS_NEW_AT_ONCE = 0.5
_MOST_AGAINST = 4  # files that were given wrongly, and are withdrawn for one


@dataclass(frozen=True)
class NetworkAccount:
    channel: Channel
    name: str


@dataclass(frozen=True)
class ImportedFile:
    """A file that the service has, and that was not withdrawn."""

    id: str
    path: Path
    account: NetworkAccount

    @property
    def gateway(self) -> GatewayName:
        """Whose statement it is, whatever account it was given to."""
        return GatewayName(self.path.name.partition("-")[0])


class Finance:
    def __init__(self, world: World, plan: Plan, files: StatementFiles) -> None:
        self._world = world
        self._plan = plan
        self._gateways = [GatewayName(each) for each in plan.gateways]
        self.files = files
        self._chance = random.Random(f"finance {plan.seed}")
        self._names: dict[GatewayName, str] = {}  # by which operators know an account now, if it is another
        self.refused: list[str] = []
        self.taken_wrongly: list[str] = []  # files of another network, of which the service can know no line

    async def find_given(self, database: Database) -> list[ImportedFile]:
        """As the list of imported files shows them, the oldest first."""
        async with database.read() as connection:
            rows = await connection.fetch(
                "SELECT id, name, channel, account FROM statement_files WHERE withdrawn_at IS NULL ORDER BY id"
            )
        return [
            ImportedFile(
                row["id"],
                self.files.folder / row["name"],
                NetworkAccount(Channel(row["channel"]), row["account"].casefold()),
            )
            for row in rows
        ]

    async def import_all(
        self,
        database: Database,
        days: list[date],
        *,
        until: float | None = None,
        layout: Layout = PORTAL,
        but: GatewayName | None = None,
    ) -> list[str]:
        """One file for each account and day that has lines; why files were refused. `until`: of a day that is not
        over."""
        refused = []
        for day in days:
            for gateway in self._gateways:
                path = None if gateway is but else self.files.write(gateway, day, until=until, layout=layout)
                if path is None:
                    continue
                try:
                    await self._give_rightly(database, gateway, path, layout)
                except (Refusal, Impossible) as error:
                    refused.append(f"{path.name}: {error} {getattr(error, 'details', None) or ''}".strip())
        return refused

    async def give_wrongly(
        self, database: Database, day: date, *, until: float | None = None
    ) -> tuple[GatewayName, NetworkAccount] | None:
        """A file of an account to another one, in any layout: whose, and to which; None if the service refuses it."""
        gateway = self._chance.choice(self._gateways)
        layout = self._chance.choice((PORTAL, GENERIC, WEEK))
        account = self._chance.choice(self._wrong_accounts(gateway))
        # Nobody calls an account of another network a new one.
        says_new = (
            account == NetworkAccount(channel_of(gateway), ELSEWHERE) and self._chance.random() < _SAYS_NEW_AT_ONCE
        )
        path = self.files.write(gateway, day, until=until, layout=layout)
        if path is None or account.name == self._names.get(gateway):
            return None
        try:
            says_new = says_new and await self._is_first(database, account)
            await self._import(database, path, account, is_new_account=says_new)
        except (Refusal, Impossible) as error:
            self.refused.append(f"{path.name} for {account}: {error}")
            return None
        if account.channel is not channel_of(gateway):
            self.taken_wrongly.append(f"{path.name} was taken as a statement of {account.channel}")
        return gateway, account

    async def give_elsewhere(self, database: Database, day: date) -> None:
        """Each account's week to another account that is called a new one, when all of it is known."""
        for gateway in self._gateways:
            account = NetworkAccount(channel_of(gateway), ELSEWHERE)
            path = self.files.write(gateway, day, layout=self._chance.choice((PORTAL, GENERIC, WEEK)))
            if path is not None and account != self._own(gateway):
                await self._try(database, partial(self._take, path=path, account=account, is_new_account=True))

    def _wrong_accounts(self, gateway: GatewayName) -> list[NetworkAccount]:
        own = channel_of(gateway)
        if gateway is GatewayName.CLICKPESA:
            return [NetworkAccount(own, ELSEWHERE)]
        others = [NetworkAccount(Channel(each), "") for each in self._plan.channels if each != own]
        return [
            NetworkAccount(own, ELSEWHERE),
            NetworkAccount(own, ELSEWHERE),
            NetworkAccount(own, _CLICKPESA),
            *others,
        ]

    def is_wrong(self, given: ImportedFile) -> bool:
        """Whether a file was given to an account that is not its own."""
        return given.account != self._own(given.gateway)

    def _own(self, gateway: GatewayName) -> NetworkAccount:
        usual = _CLICKPESA if gateway is GatewayName.CLICKPESA else ""
        return NetworkAccount(channel_of(gateway), self._names.get(gateway, usual))

    async def withdraw_wrong(self, database: Database, *, but: str | None = None) -> None:
        """What was given to an account that is not its own. Where operators have decided about its lines it stays."""
        for given in await self.find_given(database):
            if self.is_wrong(given) and given.account.name != but:
                await self.withdraw(database, given)

    async def _give_rightly(self, database: Database, gateway: GatewayName, path: Path, layout: Layout) -> None:
        """If a file that was given wrongly is against it, that one is withdrawn first. Where operators have decided
        about its lines it stays, and the account is called so from then on."""
        for _ in range(_MOST_AGAINST):
            own = self._own(gateway)
            named = NetworkAccount(own.channel, layout.clickpesa) if own.name == _CLICKPESA else own
            try:
                await self._give(database, path, named)
            except AgainstAnother as error:
                wrong = next((each for each in await self.find_given(database) if each.id == error.other.id), None)
                if wrong is None or not self.is_wrong(wrong):
                    raise
                if not await self.withdraw(database, wrong):
                    if wrong.gateway is not gateway or wrong.account != NetworkAccount(own.channel, ELSEWHERE):
                        raise
                    self._names[gateway] = ELSEWHERE
            else:
                return
        raise Conflict(f"{path.name}: there is always another file against it.")

    async def _give(self, database: Database, path: Path, account: NetworkAccount) -> None:
        is_first = await self._is_first(database, account)
        says_new = is_first and self._chance.random() < _SAYS_NEW_AT_ONCE
        try:
            await self._import(database, path, account, is_new_account=says_new)
        except NothingKnown:
            if not is_first:
                raise
            await self._import(database, path, account, is_new_account=True)

    async def _is_first(self, database: Database, account: NetworkAccount) -> bool:
        return all(
            each.account != NetworkAccount(account.channel, account.name.casefold())
            for each in await self.find_given(database)
        )

    async def _import(
        self, database: Database, path: Path, account: NetworkAccount, *, is_new_account: bool
    ) -> ImportResult:
        async with database.begin() as tx:
            return await self._take(tx, path=path, account=account, is_new_account=is_new_account)

    async def _take(self, tx: Tx, *, path: Path, account: NetworkAccount, is_new_account: bool) -> ImportResult:
        return await import_statement(
            tx,
            StatementImport(
                path,
                channel=account.channel,
                account=account.name,
                profile=await choose_profile(tx, path, account.channel),
                is_new_account=is_new_account,
            ),
            actor=_OPERATOR,
            now=clock.now(),
        )

    async def match(self, database: Database) -> None:
        apply_answers = ApplyNetworkAnswers(clock=clock.now, rules=QueryRules.of(self._world.settings))
        await match_statements(database, apply_answers, approval_amount=_APPROVAL_AMOUNT, clock=clock.now)
        async with database.begin() as tx:
            for each in await import_approval.find_open(tx):
                await approve_import(tx, apply_answers, each.proposal.subject, actor=_SECOND, now=clock.now())

    # Withdrawals, by two.

    @property
    def _desk(self) -> WithdrawStatements:
        return WithdrawStatements(approval_amount=_APPROVAL_AMOUNT)

    async def withdraw(self, database: Database, given: ImportedFile) -> bool:
        await self.propose_withdrawal(database, given)  # Or it was proposed before.
        return await self.approve_withdrawal(database, given)

    async def propose_withdrawal(self, database: Database, given: ImportedFile) -> bool:
        return await self._try(
            database,
            lambda tx: self._desk.propose_withdrawal(tx, given.id, reason=_WHY, actor=_OPERATOR, now=clock.now()),
        )

    async def approve_withdrawal(self, database: Database, given: ImportedFile) -> bool:
        """What is refused by then is rejected, so that the file can be decided about again."""
        if await self._try(database, lambda tx: self._desk.approve(tx, given.id, actor=_SECOND, now=clock.now())):
            return True
        await self._try(database, lambda tx: self._desk.reject(tx, given.id, actor=_SECOND, now=clock.now()))
        return False

    async def import_again(self, database: Database, given: ImportedFile) -> None:
        """The same bytes, for the same account, after they were withdrawn."""
        await self._give(database, given.path, given.account)

    async def _try(self, database: Database, act: Callable[[Tx], Awaitable[object]]) -> bool:
        try:
            async with database.begin() as tx:
                await act(tx)
        except (Refusal, Impossible) as error:
            self.refused.append(str(error))
            return False
        return True
