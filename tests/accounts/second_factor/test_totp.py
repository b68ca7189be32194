"""Codes of an authenticator app: those of the RFC, and for how long each is good."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from malipo.accounts.second_factor import totp

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
NOW = datetime(2026, 11, 16, 9, 0, 10, tzinfo=UTC)
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1_111_111_109, "081804"),
        (1_111_111_111, "050471"),
        (1_234_567_890, "005924"),
        (2_000_000_000, "279037"),
        (20_000_000_000, "353130"),
    ],
)
def test_the_codes_are_those_of_rfc_6238(seconds: int, code: str) -> None:
    now = datetime.fromtimestamp(seconds, UTC)
    assert totp.code_at(RFC_SECRET, totp.step_at(now)) == code
    assert totp.step_of(RFC_SECRET, code, now=now) == seconds // 30


@pytest.mark.parametrize(
    ("steps", "is_good"), [(-3, False), (-2, False), (-1, True), (0, True), (1, True), (2, False), (3, False)]
)
def test_a_clock_may_be_off_by_one_step_either_way(steps: int, is_good: bool) -> None:
    code = totp.code_at(SECRET, totp.step_at(NOW) + steps)
    expected = totp.step_at(NOW) + steps if is_good else None
    assert totp.step_of(SECRET, code, now=NOW) == expected


@pytest.mark.parametrize(("seconds", "step"), [(0, 0), (29.999, 0), (30, 1), (59.999, 1), (60, 2)])
def test_a_step_is_thirty_seconds(seconds: float, step: int) -> None:
    assert totp.step_at(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)) == step


def test_a_code_may_be_typed_with_the_spaces_that_the_app_shows() -> None:
    code = totp.code_at(SECRET, totp.step_at(NOW))
    assert totp.step_of(SECRET, f" {code[:3]} {code[3:]}\n", now=NOW) == totp.step_at(NOW)


@pytest.mark.parametrize(
    "typed", ["", "0", "12345", "1234567", "abcdef", "\u0661\u0662\u0663\u0664\u0665\u0666", "٣" * 6]
)
def test_what_is_no_code_is_not_right(typed: str) -> None:
    assert totp.step_of(SECRET, typed, now=NOW) is None


def test_a_code_of_another_secret_is_not_right() -> None:
    other = totp.new_secret()
    assert totp.step_of(SECRET, totp.code_at(other, totp.step_at(NOW)), now=NOW) is None


def test_secrets_are_long_and_never_the_same() -> None:
    made = {totp.new_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(len(base64.b32decode(each)) == 20 for each in made)


def test_the_uri_names_the_service_and_the_person() -> None:
    uri = totp.uri(SECRET, issuer="malipo", name="asha+1@example.com")
    assert uri.startswith(f"otpauth://totp/malipo:asha%2B1%40example.com?secret={SECRET}&issuer=malipo")


def test_the_secret_is_shown_four_characters_at_a_time() -> None:
    assert totp.in_groups("ABCDEFGHIJ") == "ABCD EFGH IJ"
