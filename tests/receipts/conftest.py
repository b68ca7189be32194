"""Fixtures of the receipt log."""

from pathlib import Path

import pytest

from tests.payments.payment_steps import PaymentSteps
from tests.payments.payment_steps import steps as steps
from tests.receipts.log_stack import LogStack


@pytest.fixture
def stack(steps: PaymentSteps, tmp_path: Path) -> LogStack:
    return LogStack(steps, tmp_path)
