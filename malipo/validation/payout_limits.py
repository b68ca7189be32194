"""The limits of an API key, as a request or a form brings them."""

from malipo.money import MIN_PAYMENT
from malipo.validation.fields import Fields

MOST = 10**15  # whole shillings


def payout_limits_in(fields: Fields) -> tuple[int | None, int | None]:
    """The most at once, and the most in a day. A day's limit below that of one payout is a mistake."""
    each = fields.optional_amount("payoutLimit", least=MIN_PAYMENT, most=MOST)
    daily = fields.optional_amount("dailyPayoutLimit", least=MIN_PAYMENT, most=MOST)
    if each is not None and daily is not None and daily < each:
        fields.wrong(
            "dailyPayoutLimit", "amount_too_small", "dailyPayoutLimit must not be below payoutLimit.", least=each
        )
    return each, daily
