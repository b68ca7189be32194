"""Settlements as merchants ask for them: request and cancel one."""

from malipo.clock import Clock
from malipo.db.group_commit import GroupCommits, granted
from malipo.settings import Settings
from malipo.settlement.cancel import CancelSettlements, SettlementCancellation
from malipo.settlement.create import CreateSettlements, MadeSettlement
from malipo.settlement.fee_and_minimum import SettlementTerms
from malipo.settlement.settlement import Settlement
from malipo.settlement.settlement_request import SettlementRequest


class Settlements:
    def __init__(self, commits: GroupCommits, settings: Settings, *, clock: Clock) -> None:
        self.terms = SettlementTerms.of(settings)
        self._create = commits.group("create_settlement", CreateSettlements(self.terms))
        self._cancel = commits.group("cancel_settlement", CancelSettlements(clock=clock))

    async def create(self, request: SettlementRequest) -> MadeSettlement:
        return granted(await self._create(request))

    async def cancel(self, cancellation: SettlementCancellation) -> Settlement:
        return granted(await self._cancel(cancellation))
