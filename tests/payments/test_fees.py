import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.payments.fees import BadTariff, Band, check, fee_of

TWO_BANDS = [Band(500, fixed_fee=50), Band(10_000, fixed_fee=100, basis_points=150, min_fee=300, max_fee=2_000)]


@pytest.mark.parametrize(
    ("amount", "fee"),
    [
        (499, 0),  # below every band
        (500, 50),
        (9_999, 50),
        (10_000, 300),  # 100 + 150 is less than the least
        (13_333, 300),  # 100 + 199.995, rounded half up to 200, is exactly the least
        (13_367, 301),  # 200.505 is 201
        (50_000, 850),
        (1_000_000, 2_000),  # 15,100 is more than the most
    ],
)
def test_an_amount_pays_the_fee_of_its_band(amount: int, fee: int) -> None:
    assert fee_of(amount, TWO_BANDS) == fee
    assert fee_of(amount, reversed(TWO_BANDS)) == fee


@pytest.mark.parametrize(("amount", "fee"), [(4_999, 0), (5_000, 1), (14_999, 1), (15_000, 2)])
def test_a_share_is_rounded_half_up_to_a_whole_shilling(amount: int, fee: int) -> None:
    assert fee_of(amount, [Band(0, basis_points=1)]) == fee


def test_without_a_tariff_there_is_no_fee() -> None:
    assert fee_of(1_000_000, []) == 0


@pytest.mark.parametrize(
    "bands",
    [
        [Band(500, fixed_fee=500)],
        [Band(500, min_fee=500)],
        [Band(0, fixed_fee=500)],
        [Band(500, basis_points=10_000)],
        [Band(500), Band(1_000, fixed_fee=1_000)],
        [Band(500), Band(500)],
        [Band(500, min_fee=20, max_fee=10)],
        [Band(500, basis_points=10_001)],
        [Band(-1)],
    ],
)
def test_a_tariff_that_could_take_all_or_makes_no_sense_is_refused(bands: list[Band]) -> None:
    with pytest.raises(BadTariff):
        check(bands)


@given(
    st.lists(
        st.builds(
            Band,
            st.integers(0, 10**7),
            st.integers(0, 10**5),
            st.integers(0, 10_000),
            st.integers(0, 10**5),
            st.none() | st.integers(0, 10**6),
        ),
        max_size=4,
    ),
    st.integers(500, 10**7),
)
def test_no_tariff_that_is_accepted_ever_takes_all_of_a_payment(bands: list[Band], amount: int) -> None:
    try:
        check(bands)
    except BadTariff:
        return
    assert 0 <= fee_of(amount, bands) < amount


@pytest.mark.parametrize(
    "band",
    [
        Band(0),
        Band(0, fixed_fee=499),
        Band(500, min_fee=100, max_fee=100),
        Band(0, basis_points=10_000, max_fee=499),
        Band(1_000, fixed_fee=999),
    ],
    ids=["free", "all but a shilling of the smallest payment", "always the same", "all of it, up to a maximum", "dear"],
)
def test_a_tariff_at_its_limits_is_accepted(band: Band) -> None:
    check([band])


@pytest.mark.parametrize(
    "band",
    [
        Band(0, fixed_fee=500),
        Band(0, fixed_fee=-1),
        Band(-1),
        Band(0, basis_points=-1),
        Band(0, min_fee=-1),
        Band(0, min_fee=100, max_fee=99),
        Band(0, basis_points=10_001, max_fee=100),
        Band(1_000, fixed_fee=1_000),
    ],
)
def test_a_tariff_beyond_its_limits_is_refused(band: Band) -> None:
    with pytest.raises(BadTariff):
        check([band])
