"""A log-in from a new place is shown to the person in their other sessions, and recorded in the audit log."""

import re
import secrets

from malipo.audit_log import store as audit_log
from tests.conftest import Running
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import add_person, surfing

ASKED = "Was this you?"
_READ = re.compile(r"/dashboard/new-places/\w+/read")
_PHONE = {"User-Agent": "Mozilla/5.0 (Linux; Android 13; Tecno) AppleWebKit/537 Chrome/120 Safari/537"}


def a_place() -> str:
    return f"41.{secrets.randbelow(250)}.{secrets.randbelow(250)}"


async def attempts_audited(business: Business) -> list[str]:
    async with business.database.read() as connection:
        found = await audit_log.find(connection, merchant_id=business.merchant_id, limit=100)
    return [each.action for each in found if "new_place" in each.action][::-1]


async def test_the_first_log_in_of_all_is_from_no_new_place(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    assert ASKED not in (await business.surfer.get("/dashboard")).words
    assert await attempts_audited(business) == []


async def test_a_log_in_from_a_new_place_is_shown_in_other_sessions_until_it_is_read(
    business: Business, running: Running
) -> None:
    here, place = business.surfer, a_place()
    await here.log_in(business.owner.email)
    async with surfing(running.url, seen_from=f"{place}.7") as thief:
        thief.headers |= _PHONE
        await thief.log_in(business.owner.email)
        assert ASKED not in (await thief.get("/dashboard")).words, "whoever broke in is not asked"
        seen = await here.get("/dashboard/wallet")
        for words in (ASKED, "Chrome on Android", f"{place}.7"):
            assert words in seen.words
        assert 'href="/dashboard/settings#sessions"' in seen.text
        assert 'href="/dashboard/settings#password"' in seen.text
        read = _READ.search(seen.text)
        assert read
        await thief.post(read[0])
        assert ASKED in (await here.get("/dashboard")).words, "nor can they answer"
        assert (await here.post(read[0])).to == "/dashboard"
        assert ASKED not in (await here.get("/dashboard")).words
    assert await attempts_audited(business) == ["session.new_place", "session.new_place_known"]


async def test_a_message_that_nobody_has_read_for_ninety_days_is_not_shown_any_more(
    business: Business, running: Running
) -> None:
    await business.surfer.log_in(business.owner.email)
    async with surfing(running.url, seen_from=f"{a_place()}.7") as surfer:
        await surfer.log_in(business.owner.email)
    for days, is_shown in ((89, True), (2, False)):
        async with business.database.begin() as tx:
            for table, owner in (("sessions", "person_id"), ("new_place_alerts", "account_id")):
                older = f"UPDATE {table} SET created_at = created_at - interval '{days} days' WHERE {owner} = $1"
                await tx.execute(older, business.owner.id)
        assert (ASKED in (await business.surfer.get("/dashboard")).words) is is_shown


async def test_another_address_of_a_network_that_was_seen_is_no_new_place(business: Business, running: Running) -> None:
    place = a_place()
    for number in (3, 200):
        async with surfing(running.url, seen_from=f"{place}.{number}") as surfer:
            await surfer.log_in(business.owner.email)
    assert await attempts_audited(business) == []


async def test_nobody_reads_a_colleagues_message(business: Business, running: Running) -> None:
    await business.surfer.log_in(business.owner.email)
    colleague = await add_person(business.database, business.merchant_id, f"eva+{secrets.token_hex(4)}@example.com")
    async with surfing(running.url, seen_from=f"{a_place()}.8") as eva:
        await eva.log_in(colleague.email)  # Before the message: who logs in later reads none in a new browser.
        for email in (business.owner.email, colleague.email):
            async with surfing(running.url, seen_from=f"{a_place()}.7") as surfer:
                await surfer.log_in(email)
        [read] = _READ.findall((await business.surfer.get("/dashboard")).text)
        [own] = _READ.findall((await eva.get("/dashboard")).text)
        assert own != read
        await eva.post(read)
    assert ASKED in (await business.surfer.get("/dashboard")).words


async def test_whoever_broke_in_does_not_answer_from_a_second_log_in(business: Business, running: Running) -> None:
    here, place = business.surfer, a_place()
    await here.log_in(business.owner.email)
    async with (
        surfing(running.url, seen_from=f"{place}.7") as first,
        surfing(running.url, seen_from=f"{place}.7") as second,
    ):
        await first.log_in(business.owner.email)
        for thief in (second, first):  # another browser, and the same one once more
            await thief.log_in(business.owner.email)
            assert ASKED not in (await thief.get("/dashboard")).words
        read = _READ.search((await here.get("/dashboard")).text)
        assert read
        for thief in (second, first):
            await thief.post(read[0])
    assert ASKED in (await here.get("/dashboard")).words
    assert await attempts_audited(business) == ["session.new_place"]


async def test_a_later_log_in_in_a_browser_that_was_known_before_is_asked(business: Business, running: Running) -> None:
    here = business.surfer
    await here.log_in(business.owner.email)
    await here.post("/dashboard/logout")
    async with surfing(running.url, seen_from=f"{a_place()}.7") as thief:
        await thief.log_in(business.owner.email)
    await here.log_in(business.owner.email)
    read = _READ.search((await here.get("/dashboard")).text)
    assert read
    await here.post(read[0])
    assert ASKED not in (await here.get("/dashboard")).words
    assert await attempts_audited(business) == ["session.new_place", "session.new_place_known"]
