"""The maximum age of a confirmation."""

from datetime import timedelta

import pytest

from malipo import clock
from malipo.accounts.reauthentication import (
    CONFIRMATION_LIFE,
    WITHOUT_CODE,
    SensitiveAct,
    is_confirmed_by_token,
    is_confirmed_in_browser,
)


@pytest.mark.parametrize("act", SensitiveAct)
def test_a_log_in_without_a_code_confirms_no_act_though_it_opens_pages_for_days(act: SensitiveAct) -> None:
    now = clock.now()
    confirmed_at = now - WITHOUT_CODE
    assert not is_confirmed_in_browser(act, confirmed_at=confirmed_at, last_used_at=now, now=now)
    assert not is_confirmed_by_token(act, confirmed_at=confirmed_at, now=now)
    later = now + CONFIRMATION_LIFE - WITHOUT_CODE - timedelta(seconds=1)
    assert is_confirmed_in_browser(None, confirmed_at=confirmed_at, last_used_at=later, now=later)
