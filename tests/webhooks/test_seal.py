"""A seal keeps what it was given, for its owner alone, and opens nothing that anybody has touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.seal import CannotOpen, Seal

KEY, OTHER_KEY = "a key of the operator's, long enough", "another key of the operator's, as long"
SECRET = "whsec_" + "A" * 44
OWNER = "wh_1"
SEALED = Seal(KEY).close(SECRET, owner=OWNER)


@given(st.text(), st.text(), st.text(min_size=1))
def test_what_is_sealed_can_be_opened_again(secret: str, owner: str, key: str) -> None:
    seal = Seal(key)

    assert seal.open(seal.close(secret, owner=owner), owner=owner) == secret


def test_nothing_of_the_secret_or_the_key_shows_and_no_two_seals_are_alike() -> None:
    sealed = [Seal(KEY).close(SECRET, owner=OWNER) for _ in range(50)]

    assert len(set(sealed)) == 50
    assert len({each[8:20] for each in sealed}) == 50, "each with a nonce of its own"
    for each in sealed:
        assert b"whsec_" not in each
        assert b"AAAA" not in each
        assert KEY.encode()[:4] not in each


def test_a_seal_opens_for_its_owner_alone() -> None:
    for owner in ("wh_2", "", "wh_1 ", "wh_11"):
        with pytest.raises(CannotOpen, match="changed since it was sealed"):
            Seal(KEY).open(SEALED, owner=owner)


@given(st.integers(0, len(SEALED) - 1), st.integers(1, 255))
def test_a_seal_that_was_touched_anywhere_does_not_open(place: int, change: int) -> None:
    touched = bytearray(SEALED)
    touched[place] ^= change

    with pytest.raises(CannotOpen):
        Seal(KEY).open(bytes(touched), owner=OWNER)


def test_a_seal_that_was_cut_short_does_not_open() -> None:
    """Also the empty one that a deleted endpoint leaves."""
    for length in range(len(SEALED)):
        with pytest.raises(CannotOpen):
            Seal(KEY).open(SEALED[:length], owner=OWNER)


def test_the_wrong_key_says_which_settings_to_look_at_and_nothing_else() -> None:
    with pytest.raises(CannotOpen) as raised:
        Seal(OTHER_KEY).open(SEALED, owner=OWNER)

    assert "MALIPO_SECRET_KEY" in str(raised.value)
    assert OWNER in str(raised.value)
    assert KEY not in str(raised.value)
    assert OTHER_KEY not in str(raised.value)


def test_while_the_key_is_changed_the_previous_one_opens_and_the_new_one_seals() -> None:
    between = Seal(OTHER_KEY, KEY)
    anew = between.close(SECRET, owner=OWNER)

    assert between.open(SEALED, owner=OWNER) == between.open(anew, owner=OWNER) == SECRET
    assert Seal(OTHER_KEY).open(anew, owner=OWNER) == SECRET
    with pytest.raises(CannotOpen):
        Seal(KEY).open(anew, owner=OWNER)
    assert (between.is_current(SEALED), between.is_current(anew)) == (False, True)
    assert Seal(KEY).is_current(SEALED)
    assert not Seal(KEY).is_current(b"")
