"""When a collection is paid, its page shows that in its head and its title, and announces it to screen readers."""

import re

import pytest

from malipo.app.assemble import assemble
from malipo.payments.transaction import Status, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.dashboard.merchant.new_payment.payment_form import PaymentForm
from tests.dashboard.merchant.new_payment.payment_form import payment_form as payment_form
from tests.dashboard.merchant.new_payment.payment_form import surfer as surfer
from tests.payments.payment_steps import PaymentSteps


@pytest.mark.parametrize(
    ("type_", "status", "result", "has_next"),
    [
        (Type.COLLECTION, Status.COMPLETED, "Paid", True),
        (Type.COLLECTION, Status.FAILED, "Failed", False),
        (Type.COLLECTION, Status.CANCELLED, "Cancelled", False),
        (Type.DISBURSEMENT, Status.COMPLETED, "Paid", False),
    ],
)
async def test_what_became_of_it_is_told(
    payment_form: PaymentForm, type_: Type, status: Status, result: str, has_next: bool
) -> None:
    steps = PaymentSteps(assemble(Settings(**NO_LIMITS), payment_form.database), payment_form.merchant_id)
    ended = await steps.ended(type_, status)
    shown = await payment_form.surfer.get(f"/dashboard/transactions/{ended.id}")
    assert f"<title>{result}: TZS 1,000" in shown.text
    live = re.search(r'role="status" data-follows="told">([^<]*)<', shown.text)
    assert live is not None
    assert live[1].startswith(f"{result}. TZS 1,000.")
    main = shown.text[shown.text.index("<main") :]
    assert ("paid by" in main, 'class="button primary" href="/dashboard/collect"' in main) == (has_next, has_next)
    assert "is being asked on the phone" not in main
