"""/dashboard/settings: one's password and sessions, and who did what."""

import re
from pathlib import Path

import pytest

import malipo
from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.dashboard.merchant import audit_log as audit_log_page
from malipo.db import Database
from malipo.http.user_agents import device_of
from malipo.merchants.people import Person
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.merchant.settings_owner import NEW, PATH, an_email
from tests.dashboard.merchant.settings_owner import elsewhere as elsewhere
from tests.dashboard.merchant.settings_owner import owner as owner
from tests.dashboard.merchant.settings_owner import shop as shop
from tests.dashboard.merchant.settings_owner import surfer as surfer
from tests.dashboard.page_client import PASSWORD, Seen, Surfer, add_person, surfing

# Password


async def test_a_new_password_logs_out_everywhere_and_is_the_one_to_log_in_with(
    surfer: Surfer, elsewhere: Surfer, owner: Person
) -> None:
    done = await surfer.post(f"{PATH}/password", {"current": PASSWORD, "password": NEW, "again": NEW})

    assert (done.status, done.to) == (303, "/dashboard/login")
    for each in (surfer, elsewhere):
        assert (await each.get(PATH)).to.startswith("/dashboard/login")
    assert (await surfer.log_in(owner.email)).status == 400
    assert (await surfer.log_in(owner.email, NEW)).status == 303


@pytest.mark.parametrize(
    ("current", "new", "again", "field", "said"),
    [
        ("", NEW, NEW, "current", "Please fill this in."),
        (PASSWORD, "", "", "password", "Please fill this in."),
        ("wrong wrong wrong", NEW, NEW, "current", "This is not your current password."),
        (PASSWORD, "short", "short", "password", "At least 10 characters, and at most 200."),
        (PASSWORD, NEW, NEW + " ", "again", "This is not the same password."),
    ],
)
async def test_a_password_is_not_changed_by_mistake(
    surfer: Surfer, current: str, new: str, again: str, field: str, said: str
) -> None:
    seen = await surfer.post(f"{PATH}/password", {"current": current, "password": new, "again": again})

    assert seen.status == 400
    assert re.findall(r'id="field-(\w+)-wrong"', seen.text) == [field]
    assert said in seen.words
    for typed in (new, current):
        assert not typed or f'value="{typed}"' not in seen.text
    assert (await surfer.get(PATH)).status == 200


async def test_nobody_guesses_a_password_from_an_open_session(surfer: Surfer) -> None:
    fields = {"current": "a guess", "password": NEW, "again": NEW}
    for _ in range(5):
        assert (await surfer.post(f"{PATH}/password", fields)).status == 400

    seen = await surfer.post(f"{PATH}/password", {**fields, "current": PASSWORD})

    assert seen.status == 429
    assert "Too many attempts." in seen.words


# Sessions


def others_in(seen: Seen) -> list[str]:
    return re.findall(r"/sessions/(ses_\w+)/end", seen.text)


async def test_a_session_elsewhere_is_shown_and_ended(surfer: Surfer, elsewhere: Surfer) -> None:
    seen = await surfer.get(PATH)
    assert "Chrome on Android" in seen.words
    assert "10.43.1." in seen.words
    (other,) = others_in(seen)

    assert (await surfer.post(f"{PATH}/sessions/{other}/end")).to == f"{PATH}#sessions"

    assert (await elsewhere.get(PATH)).status == 303
    assert others_in(await surfer.get(PATH)) == []
    assert (await surfer.post(f"{PATH}/sessions/{other}/end")).status == 404


async def test_all_other_sessions_end_at_once_and_this_one_stays(
    surfer: Surfer, elsewhere: Surfer, running: Running, owner: Person, database: Database, shop: Merchant
) -> None:
    colleague = await add_person(database, shop.id, an_email())
    async with surfing(running.url, seen_from="10.43.2.1") as third, surfing(running.url, seen_from="10.43.2.2") as own:
        await third.log_in(owner.email)
        await own.log_in(colleague.email)
        assert len(others_in(await surfer.get(PATH))) == 2

        await surfer.post(f"{PATH}/sessions/end")

        assert [(await each.get(PATH)).status for each in (surfer, elsewhere, third, own)] == [200, 303, 303, 200]


async def test_nobody_ends_a_colleagues_session(
    surfer: Surfer, elsewhere: Surfer, running: Running, database: Database, shop: Merchant
) -> None:
    (other,) = others_in(await surfer.get(PATH))
    colleague = await add_person(database, shop.id, an_email())
    async with surfing(running.url, seen_from="10.43.2.3") as own:
        await own.log_in(colleague.email)
        assert (await own.post(f"{PATH}/sessions/{other}/end")).status == 404
    assert (await elsewhere.get(PATH)).status == 200


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0", ("Edge", "Windows")),
        ("Mozilla/5.0 (Linux; Android 13) AppleWebKit/537.36 Chrome/120 Mobile Safari/537.36", ("Chrome", "Android")),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17 Safari/604.1", ("Safari", "iPhone")),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0", ("Firefox", "Linux")),
        ("Mozilla/5.0 (Linux; Android 11) Chrome/99 SamsungBrowser/20 Safari", ("Samsung Internet", "Android")),
        ("", (None, None)),
    ],
)
def test_browsers_are_named_as_people_know_them(user_agent: str, words: tuple[str | None, str | None]) -> None:
    assert device_of(user_agent) == words


# Who did what


async def test_acts_of_people_are_shown_in_words_with_name_and_address(surfer: Surfer, owner: Person) -> None:
    email = an_email()
    await surfer.post(f"{PATH}/people", {"name": "Juma", "email": email, "role": "staff"})
    await surfer.post("/dashboard/keys", [("name", "Web <b>shop"), ("permissions", "payments.read")])

    seen = await surfer.get(f"{PATH}/activity")

    assert f"Added {email} as staff" in seen.words
    assert re.search(r"Created the API key “Web <b>shop” that ends in [0-9a-f]{4}", seen.words)
    assert "<b>" not in seen.text
    assert seen.words.index("Created the API key") < seen.words.index(f"Added {email}") < seen.words.index("Logged in")
    assert owner.email in seen.words
    assert "From 10.43.0." in seen.words


async def test_operators_are_not_named_and_their_own_acts_not_shown(
    surfer: Surfer, database: Database, shop: Merchant
) -> None:
    neema = Actor("operator neema", "host-7")
    async with database.begin() as tx:
        now = clock.now()
        await audit_log.append(
            tx, neema, "wallet.top_up", now=now, merchant_id=shop.id, amount=1_250_000, reference="B1"
        )
        await audit_log.append(
            tx, neema, "payment.resolution_proposed", now=now, merchant_id=shop.id, evidence="call 7"
        )

    seen = await surfer.get(f"{PATH}/activity")

    assert "Put TZS 1,250,000 into the wallet" in seen.words
    assert "The operators of this service" in seen.words
    for secret in ("neema", "host-7", "call 7", "resolution"):
        assert secret not in seen.text


async def test_activity_is_paged_by_key_and_only_ones_own(surfer: Surfer, database: Database, shop: Merchant) -> None:
    other = await make_merchant(database)
    async with database.begin() as tx:
        for n in range(60):
            for merchant_id, host in ((shop.id, "here"), (other.id, "there")):
                url = f"https://{host}-{n:02}.example.com/"
                actor = Actor("a@example.com", "10.0.0.1")
                await audit_log.append(tx, actor, "webhook.deleted", now=clock.now(), merchant_id=merchant_id, url=url)

    first = await surfer.get(f"{PATH}/activity")
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older is not None
    second = await surfer.get(older[1])

    assert len(re.findall("here-", first.text)) == 50
    both = re.findall(r"here-(\d\d)", first.text + second.text)
    assert sorted(both) == [f"{n:02}" for n in range(60)]
    assert "there-" not in first.text + second.text
    assert 'rel="next"' not in second.text


def test_every_deed_has_words_or_is_not_for_merchants() -> None:
    """Held against the code, so that a new deed is put on one side or the other."""
    kept_to_ourselves = (
        "payment.contradicted",
        "payment.resolution_",
        "operator.",
        "ledger.",
        "secrets.",
        "installation.",
        "statement.",
        "statement_profile.",
        "day.",
        "exception.",
        "assignment.",
        "attachment.",
        "float.",
        "bank.",
        "number.",
        "receipt_log.",
        "invoice.",
        "invoice_buyer.",
        "books.",
        "vat_rate.",
    )
    root = Path(malipo.__file__).parent
    text = "\n".join(
        each.read_text()
        for each in root.rglob("*.py")
        if re.search(r"(?:note|append|append_to_audit_log)\(", each.read_text())
    )
    noted = set(
        re.findall(
            r"(?:note|append|append_to_audit_log)\(\s*(?:\w+,\s*)(?:Actor\([^)]*\)|[\w.]+),\s*\"([a-z_]+\.[a-z_]+)\"",
            text,
        )
    )

    assert {"api_key.created", "webhook.registered", "person.added", "payment.cancelled"} <= noted
    assert {each for each in noted if not each.startswith(kept_to_ourselves)} <= audit_log_page.SENTENCES.keys()
    assert not [each for each in audit_log_page.SENTENCES if each.startswith(kept_to_ourselves)]
