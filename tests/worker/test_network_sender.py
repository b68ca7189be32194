"""Whether a sender claims again at once: only if more may be waiting."""

import pytest

from malipo.worker.network_sender import may_be_more


@pytest.mark.parametrize(
    ("claimed", "free", "routes", "expected"),
    [
        (0, 20, 2, False),
        (4, 20, 2, False),
        (5, 20, 2, True),  # half of the share of a pair
        (20, 20, 2, True),
        (0, 1, 2, False),
        (1, 1, 2, True),
        # A network that carries no channel: its sender looks all the same.
        (0, 20, 0, False),
    ],
)
def test_more_may_be_waiting_if_half_of_a_share_was_claimed(
    claimed: int, free: int, routes: int, expected: bool
) -> None:
    assert may_be_more(claimed, free=free, routes=routes) is expected
