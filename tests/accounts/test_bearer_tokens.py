"""Until when a bearer token is good: its session may live for longer."""

from datetime import UTC, datetime, timedelta

import pytest

from malipo.accounts.bearer_tokens import Tokens
from malipo.accounts.tokens import TOKEN_SECONDS

NOW = datetime(2026, 11, 19, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "is_good"), [(0, True), (TOKEN_SECONDS - 1, True), (TOKEN_SECONDS, False), (30 * 86_400, False)]
)
def test_a_token_ends_by_itself(seconds: int, is_good: bool) -> None:
    tokens = Tokens("a-secret-that-is-long-enough-for-tests")
    made = tokens.make("ses_1", now=NOW)
    assert tokens.session_of(made, now=NOW + timedelta(seconds=seconds)) == ("ses_1" if is_good else None)
