"""The acts of operators about settlements, with the settings of this service."""

from datetime import timedelta

from malipo.dashboard.operator.request import OperatorRequest
from malipo.settlement.operator_acts import SettlementActs


def acts_of(request: OperatorRequest) -> SettlementActs:
    return SettlementActs(timedelta(hours=request.parts.settings.bank_account_wait_hours))
