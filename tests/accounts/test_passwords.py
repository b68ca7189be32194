"""Passwords: a right one, a wrong one, and one for an account that does not exist."""

from malipo.accounts import passwords
from malipo.accounts.passwords import Passwords


async def test_only_the_right_password_of_somebody_is_right() -> None:
    keeper = Passwords()
    kept = await keeper.hash("sukari na chumvi")
    assert await keeper.is_right("sukari na chumvi", kept)
    assert not await keeper.is_right("sukari na pilipili", kept)
    assert not await keeper.is_right("sukari na chumvi", None)
    assert not await keeper.is_right("sukari na chumvi", "not a hash")


def test_nobody_is_checked_as_slowly_as_somebody() -> None:
    """The same parameters, or the time would tell which emails there are."""
    assert not passwords._hasher.check_needs_rehash(passwords._NOBODY)
    assert len(passwords._NOBODY) == len(passwords._hasher.hash("x"))
