"""Codes on a real database: each works once, also when it comes many times at once, and guesses are limited."""

import asyncio
import math
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from malipo import clock
from malipo.accounts import failed_login_audit
from malipo.accounts.account import AccountOwner
from malipo.accounts.known_browsers import Browser
from malipo.accounts.second_factor import enrol, totp
from malipo.accounts.second_factor.check_code import (
    MOST_ELSEWHERE_A_DAY,
    MOST_FROM_ADDRESS,
    MOST_IN_KNOWN_BROWSER,
    CodeChecker,
    CodeRequired,
    TooManyCodes,
    TypedCode,
    WrongCode,
)
from malipo.accounts.store import browsers, second_factors
from malipo.accounts.tokens import hash_of
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.encryption import CannotDecrypt, Encryption
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.conftest import SECRET_KEY, make_merchant
from tests.dashboard.page_client import add_person

OWNER = AccountOwner("per_1", "asha@example.com", Actor("asha@example.com", "10.0.0.1"), "mer_1")
ELSEWHERE = AccountOwner("per_1", "asha@example.com", Actor("asha@example.com", "10.9.9.9"), "mer_1")


@pytest.fixture
def codes(database: Database) -> CodeChecker:
    return CodeChecker(database, Encryption(SECRET_KEY))


@pytest.fixture
async def app(database: Database) -> AuthenticatorApp:
    return await enrolled(database, OWNER.id)


async def outcome(checking: Awaitable[None]) -> str:
    try:
        await checking
    except (WrongCode, TooManyCodes, CodeRequired) as refusal:
        return refusal.code
    return "right"


async def test_a_code_works_once(codes: CodeChecker, app: AuthenticatorApp) -> None:
    typed, now = TypedCode(app.code()), clock.now()
    assert await outcome(codes.check(OWNER, typed, now=now)) == "right"
    assert await outcome(codes.check(OWNER, typed, now=now)) == "second_factor_wrong"


async def test_a_code_from_before_the_last_one_is_refused_and_a_later_one_is_not(
    codes: CodeChecker, app: AuthenticatorApp
) -> None:
    now = clock.now()
    for steps, expected in ((0, "right"), (-1, "second_factor_wrong"), (0, "second_factor_wrong"), (1, "right")):
        assert await outcome(codes.check(OWNER, TypedCode(app.code(steps)), now=now)) == expected, steps


@pytest.mark.parametrize("kind", ["code", "recovery code"])
async def test_the_same_code_many_times_at_once_works_once(
    codes: CodeChecker, app: AuthenticatorApp, kind: str
) -> None:
    typed, now = (
        TypedCode(app.code()) if kind == "code" else TypedCode(recovery_code=app.recovery_codes[0]),
        clock.now(),
    )
    found = await asyncio.gather(*(outcome(codes.check(OWNER, typed, now=now)) for _ in range(5)))
    assert sorted(found) == ["right"] + ["second_factor_wrong"] * 4


async def test_each_recovery_code_works_once(codes: CodeChecker, app: AuthenticatorApp, database: Database) -> None:
    now = clock.now()
    for code in app.recovery_codes:
        assert await outcome(codes.check(OWNER, TypedCode(recovery_code=code.upper()), now=now)) == "right"
        assert await outcome(codes.check(OWNER, TypedCode(recovery_code=code), now=now)) == "second_factor_wrong"
    async with database.read() as connection:
        found = await audit_log.find(connection, merchant_id="mer_1", limit=100)
    left = [each.details["left"] for each in found if each.action == "second_factor.recovery_code_used"]
    assert sorted(left) == list(range(10))


async def test_new_recovery_codes_replace_the_old_ones(
    codes: CodeChecker, app: AuthenticatorApp, database: Database
) -> None:
    now = clock.now()
    async with database.begin() as tx:
        new = await enrol.make_recovery_codes(tx, OWNER, now=now)
    assert len(new) == 10
    assert not set(new) & set(app.recovery_codes)
    assert (
        await outcome(codes.check(OWNER, TypedCode(recovery_code=app.recovery_codes[0]), now=now))
        == "second_factor_wrong"
    )
    assert await outcome(codes.check(OWNER, TypedCode(recovery_code=new[0]), now=now)) == "right"


async def test_of_several_new_sets_of_recovery_codes_at_once_one_is_valid(
    app: AuthenticatorApp, database: Database
) -> None:
    async def make() -> None:
        async with database.begin() as tx:
            await enrol.make_recovery_codes(tx, OWNER, now=clock.now())

    await asyncio.gather(*(make() for _ in range(6)))
    async with database.read() as connection:
        found = await second_factors.find(connection, OWNER.id)
    assert found is not None
    assert found.recovery_codes_left == 10


async def test_another_persons_codes_are_worth_nothing(
    codes: CodeChecker, app: AuthenticatorApp, database: Database
) -> None:
    other, now = await enrolled(database, "per_2"), clock.now()
    assert await outcome(codes.check(OWNER, TypedCode(other.code()), now=now)) == "second_factor_wrong"
    assert (
        await outcome(codes.check(OWNER, TypedCode(recovery_code=other.recovery_codes[0]), now=now))
        == "second_factor_wrong"
    )


async def test_five_guesses_in_an_hour_from_an_address_are_all_also_when_they_come_at_once(
    codes: CodeChecker, app: AuthenticatorApp, database: Database
) -> None:
    now, guess = clock.now(), TypedCode(app.wrong_code())
    found = await asyncio.gather(
        *(outcome(codes.check(owner, guess, now=now)) for owner in (OWNER, ELSEWHERE) for _ in range(10))
    )
    assert sorted(found) == ["second_factor_wrong"] * 10 + ["too_many_codes"] * 10
    assert await outcome(codes.check(OWNER, TypedCode(app.code()), now=now)) == "too_many_codes", (
        "not even the right one"
    )
    async with database.read() as connection:
        entries = await audit_log.find(connection, merchant_id="mer_1", limit=100)
    assert [each.action for each in entries].count("second_factor.code_failed") == 10, "the log cannot be filled"


async def test_whoever_knows_the_password_locks_nobody_out_of_another_place(
    codes: CodeChecker, app: AuthenticatorApp
) -> None:
    now, guess = clock.now(), TypedCode(app.wrong_code())
    for _ in range(30):
        await outcome(codes.check(ELSEWHERE, guess, now=now))
    assert await outcome(codes.check(ELSEWHERE, guess, now=now)) == "too_many_codes"
    assert await outcome(codes.check(OWNER, TypedCode(app.code()), now=now)) == "right"


async def test_guesses_from_everywhere_are_forty_a_day_and_a_known_browser_is_let_in_all_the_same(
    codes: CodeChecker, app: AuthenticatorApp, database: Database
) -> None:
    merchant = await make_merchant(database)
    person = await add_person(database, merchant.id, f"asha+{secrets.token_hex(6)}@example.com")
    app, browser = await enrolled(database, person.id), Browser(token="mbr_known")
    async with database.begin() as tx:
        await browsers.remember(
            tx,
            "person_id",
            person.id,
            before=None,
            after=hash_of("mbr_known"),
            address="10.0.0.1",
            user_agent="",
            now=clock.now(),
        )

    def seen_from(address: str) -> AccountOwner:
        return AccountOwner(person.id, person.email, Actor(person.email, address), merchant.id)

    now, guess = clock.now(), TypedCode(app.wrong_code())
    found = [
        await outcome(codes.check(seen_from(f"10.0.{network}.1"), guess, now=now + timedelta(hours=hour)))
        for hour in range(4)
        for network in range(8)
        for _ in range(6)
    ]
    assert found.count("second_factor_wrong") == MOST_ELSEWHERE_A_DAY == 40
    later = now + timedelta(hours=4)
    code = TypedCode(totp.code_at(app.secret, totp.step_at(later)))
    assert await outcome(codes.check(seen_from("10.1.1.1"), code, now=later)) == "too_many_codes"
    stranger = Browser(token="mbr_unknown")
    assert await outcome(codes.check(seen_from("10.1.1.1"), code, now=later, browser=stranger)) == "too_many_codes"
    assert await outcome(codes.check(seen_from("10.1.1.1"), code, now=later, browser=browser)) == "right"
    found = [
        await outcome(codes.check(seen_from("10.1.1.1"), guess, now=later + timedelta(hours=hour), browser=browser))
        for hour in range(8)
        for _ in range(11)
    ]
    assert (found[:11].count("second_factor_wrong"), found.count("second_factor_wrong")) == MOST_IN_KNOWN_BROWSER


def test_a_code_is_not_guessed_within_ten_years() -> None:
    """Three codes are valid at a time, of a million. Whoever has the password, and uses every guess of every day from
    unknown places, has even odds after 16 years; and each day stands in the audit log."""
    secret, now = totp.new_secret(), clock.now()
    valid = {totp.code_at(secret, totp.step_at(now) + step) for step in range(-3, 4)}
    accepted = sum(totp.step_of(secret, code, now=now) is not None for code in valid)
    a_day = MOST_ELSEWHERE_A_DAY * accepted / 10**6
    years_to_even_odds = math.log(2) / -math.log(1 - a_day) / 365
    assert accepted <= 3
    assert years_to_even_odds > 10


def test_one_address_cannot_use_up_what_all_have() -> None:
    assert MOST_FROM_ADDRESS[1] * 4 <= MOST_ELSEWHERE_A_DAY


async def test_who_was_locked_out_by_guesses_comes_in_with_a_recovery_code(
    codes: CodeChecker, app: AuthenticatorApp
) -> None:
    now = clock.now()
    for kind in (TypedCode(app.wrong_code()), TypedCode(recovery_code="0000-0000-0000-0000")):
        for _ in range(11):
            await outcome(codes.check(ELSEWHERE, kind, now=now))
        assert await outcome(codes.check(ELSEWHERE, kind, now=now)) == "too_many_codes"
    assert await outcome(codes.check(OWNER, TypedCode(recovery_code=app.recovery_codes[0]), now=now)) == "right"


def at(address: str) -> AccountOwner:
    return AccountOwner(OWNER.id, OWNER.name, Actor(OWNER.name, address), OWNER.merchant_id)


async def test_the_addresses_of_one_ipv6_network_have_their_recovery_codes_counted_together(
    codes: CodeChecker, app: AuthenticatorApp
) -> None:
    now, guess = clock.now(), TypedCode(recovery_code="0000-0000-0000-0000")
    found = [await outcome(codes.check(at(f"2001:db8:0:7::{n:x}"), guess, now=now)) for n in range(1, 13)]
    assert found == ["second_factor_wrong"] * 10 + ["too_many_codes"] * 2
    assert await outcome(codes.check(at("2001:db8:0:8::1"), guess, now=now)) == "second_factor_wrong"


async def test_wrong_codes_from_many_networks_do_not_fill_the_audit_log_and_are_counted(
    codes: CodeChecker, app: AuthenticatorApp, database: Database
) -> None:
    now, guess = clock.now(), TypedCode(recovery_code="0000-0000-0000-0000")
    for network in range(3):
        for _ in range(11):
            await outcome(codes.check(at(f"2001:db8:0:{network}::1"), guess, now=now))
    later = now + timedelta(hours=1)
    await failed_login_audit.report(database, now=later, most=100)
    async with database.read() as connection:
        entries = await audit_log.find(connection, merchant_id="mer_1", limit=100)
    assert [each.action for each in entries].count("second_factor.code_failed") == 10
    [often] = [each for each in entries if each.action == "second_factor.code_failed_often"]
    assert (often.actor, often.details["failures"], often.details["throttled"]) == (OWNER.name, 20, 3)


async def test_guesses_are_forgotten_after_a_right_code_and_after_an_hour(
    codes: CodeChecker, app: AuthenticatorApp
) -> None:
    now, guess = clock.now(), TypedCode(app.wrong_code())
    for _ in range(4):
        assert await outcome(codes.check(OWNER, guess, now=now)) == "second_factor_wrong"
    assert await outcome(codes.check(OWNER, TypedCode(app.code()), now=now)) == "right"
    for _ in range(5):
        assert await outcome(codes.check(OWNER, guess, now=now)) == "second_factor_wrong"
    for minutes in (0, 59):
        assert await outcome(codes.check(OWNER, guess, now=now + timedelta(minutes=minutes))) == "too_many_codes"
    later = now + timedelta(hours=1, seconds=1)
    code = totp.code_at(app.secret, totp.step_at(later))
    assert await outcome(codes.check(OWNER, TypedCode(code), now=later)) == "right"


async def test_the_secret_is_encrypted_and_worth_nothing_in_another_row(
    codes: CodeChecker, app: AuthenticatorApp, database: Database
) -> None:
    async with database.read() as connection:
        found = await second_factors.find(connection, OWNER.id)
    assert found is not None
    assert app.secret.encode() not in found.secret
    with pytest.raises(CannotDecrypt):
        Encryption(SECRET_KEY).decrypt(found.secret, owner="per_2")


async def test_secrets_are_encrypted_anew_when_the_key_changes(app: AuthenticatorApp, database: Database) -> None:
    new = "another-secret-that-is-long-enough-too"
    async with database.begin() as tx:
        assert await enrol.reencrypt(tx, Encryption(new, SECRET_KEY)) == (1, 1)
        assert await enrol.reencrypt(tx, Encryption(new, SECRET_KEY)) == (0, 1)
    codes = CodeChecker(database, Encryption(new))
    assert await outcome(codes.check(OWNER, TypedCode(app.code()), now=clock.now())) == "right"


async def _enrol(database: Database, owner: AccountOwner, secret: str, code: str) -> str:
    try:
        async with database.begin() as tx:
            await enrol.enrol(tx, owner, secret, code, encryption=Encryption(SECRET_KEY), now=clock.now())
    except (WrongCode, enrol.AlreadyEnrolled) as refusal:
        return refusal.code
    return "right"


async def test_an_enrolment_needs_the_right_code_happens_once_and_uses_the_code_up(
    codes: CodeChecker, database: Database
) -> None:
    secret, now = totp.new_secret(), clock.now()
    code = totp.code_at(secret, totp.step_at(now))
    wrong = next(
        each for each in ("000000", "111111", "222222", "333333") if totp.step_of(secret, each, now=now) is None
    )
    assert await _enrol(database, OWNER, secret, wrong) == "second_factor_wrong"
    found = await asyncio.gather(*(_enrol(database, OWNER, secret, code) for _ in range(5)))
    assert sorted(found) == ["right"] + ["second_factor_exists"] * 4
    assert await outcome(codes.check(OWNER, TypedCode(code), now=now)) == "second_factor_wrong"


async def test_without_a_second_factor_no_code_is_needed_and_with_one_it_is(
    codes: CodeChecker, database: Database
) -> None:
    assert await outcome(codes.check_if_enrolled(OWNER, TypedCode(), now=clock.now())) == "right"
    app = await enrolled(database, OWNER.id)
    assert await outcome(codes.check_if_enrolled(OWNER, TypedCode(), now=clock.now())) == "second_factor_required"
    assert await outcome(codes.check_if_enrolled(OWNER, TypedCode(app.code()), now=clock.now())) == "right"


def test_the_secret_of_an_enrolment_is_carried_encrypted_for_one_account() -> None:
    encryption, secret = Encryption(SECRET_KEY), totp.new_secret()
    text = enrol.carried(encryption, "per_1", secret)
    assert secret not in text
    assert enrol.secret_in(encryption, "per_1", text) == secret
    spoilt: list[Callable[[], str]] = [
        lambda: enrol.secret_in(encryption, "per_2", text),
        lambda: enrol.secret_in(encryption, "per_1", text[:-8]),
        lambda: enrol.secret_in(encryption, "per_1", ""),
        lambda: enrol.secret_in(encryption, "per_1", "ü"),
    ]
    for each in spoilt:
        with pytest.raises(enrol.EnrolmentNotGood):
            each()
