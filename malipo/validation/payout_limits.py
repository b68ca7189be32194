"""The limits of an API key, as a request or a form brings them."""

from malipo.validation.fields import Fields

LEAST, MOST = 500, 10**15  # whole shillings; no payout is smaller


def payout_limits_in(fields: Fields) -> tuple[int | None, int | None]:
    """The most at once, and the most in a day. A day's limit below that of one payout is a mistake."""
    each = fields.optional_amount("payoutLimit", least=LEAST, most=MOST)
    daily = fields.optional_amount("dailyPayoutLimit", least=LEAST, most=MOST)
    if each is not None and daily is not None and daily < each:
        fields.wrong(
            "dailyPayoutLimit", "amount_too_small", "dailyPayoutLimit must not be below payoutLimit.", least=each
        )
    return each, daily
