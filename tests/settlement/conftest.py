from tests.settlement.settlement_steps import steps

__all__ = ["steps"]
