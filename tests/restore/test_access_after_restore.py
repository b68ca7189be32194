"""After a fence no earlier session, trusted browser or link is valid, because the backup has revoked ones as valid."""

from datetime import timedelta

from malipo import clock
from malipo.accounts.second_factor import pending_login
from malipo.accounts.store import browsers, second_factors, trusted_browsers
from malipo.accounts.tokens import hash_of
from malipo.merchants.password_links import make_link
from malipo.merchants.store import password_links, sessions
from malipo.operators import store as operators
from tests.conftest import NOBODY, make_merchant
from tests.dashboard.page_client import add_person
from tests.payments.payment_steps import PaymentSteps
from tests.restore.operators import fence
from tests.restore.operators import steps as steps


async def test_sessions_and_links_end_with_the_fence(steps: PaymentSteps) -> None:
    now = clock.now()
    merchant = await make_merchant(steps.database)
    person = await add_person(steps.database, merchant.id, "asha@example.com")
    async with steps.database.begin() as tx:
        until = now + timedelta(days=1)
        await sessions.insert(
            tx, "ses_1", person.id, now=now, confirmed_at=now, expires_at=until, address="", user_agent=""
        )
        await operators.insert_operator(tx, "opr_1", "asha", now=now)
        await operators.insert(tx, "ops_1", "opr_1", now=now, confirmed_at=now, expires_at=until, address="")
        link = hash_of(await make_link(tx, person, actor=NOBODY, now=now))

    async def found() -> list[bool]:
        async with steps.database.read() as connection:
            return [
                await sessions.get_live(connection, "ses_1", now=now) is not None,
                await operators.get_live(connection, "ops_1", now=now) is not None,
                await password_links.find(connection, link, now=now) is not None,
            ]

    assert await found() == [True, True, True]
    await fence(steps)
    assert await found() == [False, False, False]


async def test_no_browser_is_trusted_and_no_log_in_waits_after_a_restore(steps: PaymentSteps) -> None:
    """Trust that was ended since the backup would be back."""
    async with steps.database.begin() as tx:
        await operators.insert_operator(tx, "opr_1", "asha", now=clock.now())
        await browsers.remember(
            tx, "operator_id", "opr_1", before=None, after=b"b", address="", user_agent="", now=clock.now()
        )
        assert await trusted_browsers.trust(tx, "opr_1", b"b", until=clock.now() + timedelta(days=1))
        token = await pending_login.begin(tx, "opr_1", now=clock.now())
    await fence(steps)
    async with steps.database.read() as connection:
        assert not await trusted_browsers.is_trusted(connection, "opr_1", b"b", now=clock.now())
        assert await pending_login.find(connection, token, now=clock.now()) is None


async def test_recovery_codes_from_before_a_restore_no_longer_work(steps: PaymentSteps) -> None:
    """Codes that were used since the backup would work again; nobody can tell which."""
    async with steps.database.begin() as tx:
        await second_factors.insert(tx, "opr_1", b"encrypted", used_step=1, now=clock.now())
        await second_factors.replace_recovery_codes(tx, "opr_1", [b"used in the lost time", b"never used"])
    await fence(steps)
    async with steps.database.begin() as tx:
        assert not await second_factors.use_recovery_code(tx, "opr_1", b"used in the lost time", now=clock.now())
        assert not await second_factors.use_recovery_code(tx, "opr_1", b"never used", now=clock.now())
        found = await second_factors.find(tx, "opr_1")
        assert (found is not None and found.recovery_codes_left) == 0, "the page tells them to make new ones"
        await second_factors.replace_recovery_codes(tx, "opr_1", [b"made since"])
        assert await second_factors.use_recovery_code(tx, "opr_1", b"made since", now=clock.now())
