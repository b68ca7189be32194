"""Encryption: a secret is decrypted for its owner alone, and not at all if it was changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.encryption import CannotDecrypt, Encryption

KEY, OTHER_KEY = "a key of the operator's, long enough", "another key of the operator's, as long"
SECRET = "whsec_" + "A" * 44
OWNER = "wh_1"
SEALED = Encryption(KEY).encrypt(SECRET, owner=OWNER)


@given(st.text(), st.text(), st.text(min_size=1))
def test_what_is_sealed_can_be_opened_again(secret: str, owner: str, key: str) -> None:
    encryption = Encryption(key)

    assert encryption.decrypt(encryption.encrypt(secret, owner=owner), owner=owner) == secret


def test_nothing_of_the_secret_or_the_key_shows_and_no_two_seals_are_alike() -> None:
    encrypted = [Encryption(KEY).encrypt(SECRET, owner=OWNER) for _ in range(50)]

    assert len(set(encrypted)) == 50
    assert len({each[8:20] for each in encrypted}) == 50, "each with a nonce of its own"
    for each in encrypted:
        assert b"whsec_" not in each
        assert b"AAAA" not in each
        assert KEY.encode()[:4] not in each


def test_a_secret_is_decrypted_for_its_owner_alone() -> None:
    for owner in ("wh_2", "", "wh_1 ", "wh_11"):
        with pytest.raises(CannotDecrypt, match="changed since it was encrypted"):
            Encryption(KEY).decrypt(SEALED, owner=owner)


@given(st.integers(0, len(SEALED) - 1), st.integers(1, 255))
def test_a_seal_that_was_touched_anywhere_does_not_open(place: int, change: int) -> None:
    touched = bytearray(SEALED)
    touched[place] ^= change

    with pytest.raises(CannotDecrypt):
        Encryption(KEY).decrypt(bytes(touched), owner=OWNER)


def test_a_seal_that_was_cut_short_does_not_open() -> None:
    """Also the empty one that a deleted endpoint leaves."""
    for length in range(len(SEALED)):
        with pytest.raises(CannotDecrypt):
            Encryption(KEY).decrypt(SEALED[:length], owner=OWNER)


def test_the_wrong_key_says_which_settings_to_look_at_and_nothing_else() -> None:
    with pytest.raises(CannotDecrypt) as raised:
        Encryption(OTHER_KEY).decrypt(SEALED, owner=OWNER)

    assert "MALIPO_SECRET_KEY" in str(raised.value)
    assert OWNER in str(raised.value)
    assert KEY not in str(raised.value)
    assert OTHER_KEY not in str(raised.value)


def test_while_the_key_is_changed_the_previous_one_opens_and_the_new_one_seals() -> None:
    between = Encryption(OTHER_KEY, KEY)
    anew = between.encrypt(SECRET, owner=OWNER)

    assert between.decrypt(SEALED, owner=OWNER) == between.decrypt(anew, owner=OWNER) == SECRET
    assert Encryption(OTHER_KEY).decrypt(anew, owner=OWNER) == SECRET
    with pytest.raises(CannotDecrypt):
        Encryption(KEY).decrypt(anew, owner=OWNER)
    assert (between.is_current(SEALED), between.is_current(anew)) == (False, True)
    assert Encryption(KEY).is_current(SEALED)
    assert not Encryption(KEY).is_current(b"")
