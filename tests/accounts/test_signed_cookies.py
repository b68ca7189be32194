"""A signed value of a page or a cookie is accepted for its own use only."""

import pytest

from malipo.accounts.signed_cookies import Cookies

SESSION = "ses_01"


@pytest.fixture
def cookies() -> Cookies:
    return Cookies("a-secret-that-is-long-enough-for-tests")


def test_a_cookie_names_its_session_and_one_that_was_changed_names_none(cookies: Cookies) -> None:
    cookie = cookies.make(SESSION)
    assert cookies.session_of(cookie) == SESSION
    assert cookies.session_of(cookie.replace(SESSION, "ses_02")) is None
    assert cookies.session_of(SESSION) is None
    assert cookies.session_of("") is None


def test_the_token_of_a_form_is_no_signature_of_its_session(cookies: Cookies) -> None:
    """It stands in the source of every page: whoever reads a page must not become its reader."""
    assert cookies.session_of(f"{SESSION}.{cookies.form_token(SESSION)}") is None


def test_the_cookie_of_a_browser_is_no_session_and_that_of_a_session_no_browser(cookies: Cookies) -> None:
    assert cookies.session_of(cookies.make_browser(SESSION)) is None
    assert cookies.browser_of(cookies.make(SESSION)) is None


def test_a_cookie_is_no_token_of_a_form(cookies: Cookies) -> None:
    signature = cookies.make(SESSION).partition(".")[2]
    assert cookies.is_form_token(SESSION, cookies.form_token(SESSION))
    assert not cookies.is_form_token(SESSION, signature)


def test_the_token_of_another_session_is_none_of_this_one(cookies: Cookies) -> None:
    assert not cookies.is_form_token(SESSION, cookies.form_token("ses_02"))


def test_a_previous_secret_still_verifies_and_no_longer_signs() -> None:
    old, new = Cookies("old" * 12), Cookies("new" * 12, "old" * 12)
    assert new.session_of(old.make(SESSION)) == SESSION
    assert old.session_of(new.make(SESSION)) is None


def test_a_customers_cookie_is_that_of_one_link(cookies: Cookies) -> None:
    made = cookies.make_attempt("abc", "txn_1-own")
    assert cookies.attempt_of("abc", made) == "txn_1-own"
    assert cookies.attempt_of("abd", made) is None
    assert cookies.attempt_of("abc", made.replace("txn_1", "txn_2")) is None
    assert cookies.session_of(made) is None
    assert cookies.attempt_of("abc", cookies.make("txn_1-own")) is None
