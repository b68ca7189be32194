"""The holidays that the government has declared, as the service was told at its start."""

from malipo.bank_evidence.banking_days import BankingDays
from malipo.db import Conn


async def find_banking_days(connection: Conn) -> BankingDays:
    """The calendar of banks, the same for every process and command."""
    return BankingDays(await connection.fetchval("SELECT bank_holidays FROM operator_limits") or ())
