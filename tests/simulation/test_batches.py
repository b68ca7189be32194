"""The batches of a seed: the same at every draw, to phones that no payment has."""

from simulation.batches.planned import batches_of
from simulation.plan import draw


def test_a_seed_has_the_same_batches_at_every_draw_and_they_share_no_phone() -> None:
    fates = set()
    for seed in range(60):
        plan = draw(seed, payments=25)
        batches = batches_of(plan)
        assert batches == batches_of(draw(seed, payments=25))
        phones = [item.phone for batch in batches for item in batch.items]
        assert len(set(phones)) == len(phones)
        assert not set(phones) & {payment.phone for payment in plan.payments}
        assert {item.channel for batch in batches for item in batch.items} <= set(plan.channels)
        fates |= {batch.fate for batch in batches}
    assert fates == {"approved", "cancelled", "raced", "stopped"}
