"""Two treasurers of the company: settlements to merchants' banks by payout files, and the bank's statements."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from msgspec.structs import replace

from malipo.bank.decide_exception import BankAction, LineTerms
from malipo.bank.line_decision import BankExceptionKind
from malipo.bank.store.lines import BankException
from malipo.db import Database
from malipo.ledger.accounts import Account
from malipo_simulator.bank.bank import Bank
from simulation.settlements.planned import PlannedAccount, PlannedSettlements, draw
from simulation.settlements.treasury import Treasury
from simulation.template import SimulatedMerchant

# What the bank does with the merchants' accounts: the last two are refused, and given back after two days.
_BEHAVIOURS = ("", "", "", "refused", "returned")
INTEREST, CHARGE = "INTEREST EARNED", "LEDGER FEE"
_HOUSE = {INTEREST: Account.INTEREST, CHARGE: Account.BANK_CHARGES}


def planned(merchants: int) -> PlannedSettlements:
    """What treasurers and bank do. Of what a seed draws beside it, nothing concerns them here."""
    drawn = next(each for each in map(draw, range(100)) if each is not None)
    bank = replace(
        drawn.bank,
        is_table=False,
        books_one_sum=False,
        lists_parts=True,
        charge_cents=118_000,
        loses_file=2,
        refuses_file=3,
    )
    return replace(
        drawn,
        requests=(),
        accounts=tuple(PlannedAccount(number, _BEHAVIOURS[number], 2) for number in range(merchants)),
        scheduled=(),
        bank=bank,
        days=replace(drawn.days, handed_in_twice=(), formats=("camt053", "mt940")),
    )


class Treasurers(Treasury):
    def __init__(self, accounts: Sequence[SimulatedMerchant], bank: Bank, folder: Path) -> None:
        super().__init__(planned(len(accounts)), accounts, bank, folder)

    async def _terms(self, database: Database, exception: BankException) -> LineTerms | None:
        """Also what the bank pays and takes by itself."""
        account = next((each for text, each in _HOUSE.items() if text in exception.line.details), None)
        if exception.kind in (BankExceptionKind.UNKNOWN_CREDIT, BankExceptionKind.UNKNOWN_DEBIT) and account:
            return LineTerms(action=BankAction.BOOK, account=account)
        return await super()._terms(database, exception)

    async def read_statement(self, database: Database, first: date, last: date) -> None:
        """And do what follows from it."""
        await self.import_days(database, first, last)
        await self.settle_answers(database)
        await self.decide_all(database)
        await self.void_lost(database)
        await self.release(database)
        await self.collect_debts(database)
