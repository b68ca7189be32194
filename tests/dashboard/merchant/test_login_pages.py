"""/dashboard: who can log in and who cannot, and the security headers of every page."""

import re
import secrets

import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants import onboard
from malipo.merchants.roles import Role
from malipo.merchants.store import merchants
from tests.conftest import NOBODY, Running, make_merchant
from tests.dashboard.business import Business, numbers
from tests.dashboard.business import business as business
from tests.dashboard.business import nobody as nobody
from tests.dashboard.page_client import PASSWORD, Surfer, add_person, surfing


async def test_a_person_logs_in_and_out_and_the_cookie_is_dead_afterwards(business: Business) -> None:
    entered = await business.surfer.log_in(business.owner.email)
    assert (entered.status, entered.to) == (303, "/dashboard")
    assert await business.is_in()
    cookie = entered.cookies["malipo_session"].partition(";")[0]

    left = await business.surfer.post("/dashboard/logout")
    assert (left.status, left.to) == (303, "/dashboard/login")
    assert 'malipo_session=""' in left.cookies["malipo_session"]
    assert not await business.is_in()
    async with surfing(business.surfer.url) as thief:
        assert (await thief.get("/dashboard", headers={"Cookie": cookie})).status == 303


async def test_the_cookie_is_for_the_dashboard_alone_and_no_script_reads_it(business: Business) -> None:
    seen = await business.surfer.log_in(business.owner.email)
    flags = {each.strip().lower() for each in seen.cookies["malipo_session"].split(";")[1:]}
    assert flags == {"httponly", "max-age=2592000", "path=/dashboard", "samesite=lax"}


async def test_behind_tls_the_cookie_is_secure_if_a_proxy_of_ours_says_so(business: Business) -> None:
    business.surfer.headers["X-Forwarded-Proto"] = "https"
    seen = await business.surfer.log_in(business.owner.email)
    assert "; secure" in seen.cookies["malipo_session"].lower()
    assert await business.sessions() == [business.address]


async def test_a_proxy_that_is_not_ours_is_not_believed(business: Business) -> None:
    async with surfing(business.surfer.url, seen_from="10.9.9.9", peer="127.0.0.2") as far:
        far.headers["X-Forwarded-Proto"] = "https"
        seen = await far.log_in(business.owner.email)
        assert "; secure" not in seen.cookies["malipo_session"].lower()
        assert await business.sessions() == ["127.0.0.2"]
        assert "Requests that 127.0.0.2 forwards" in (await far.get("/readyz")).text, "and whoever runs it is warned"


async def test_each_log_in_is_a_new_session_and_ends_the_one_the_browser_came_with(business: Business) -> None:
    first = (await business.surfer.log_in(business.owner.email)).cookies["malipo_session"]
    second = (await business.surfer.log_in(business.owner.email)).cookies["malipo_session"]
    assert first.partition(";")[0] != second.partition(";")[0]
    assert len(await business.sessions()) == 1


async def test_a_session_that_somebody_planted_is_not_the_one_that_a_person_gets(business: Business) -> None:
    """Fixation: the attacker gives the victim a session of the attacker's, and waits."""
    attacker = await add_person(business.database, business.merchant_id, f"juma+{secrets.token_hex(6)}@example.com")
    async with surfing(business.surfer.url, seen_from=business.address) as other:
        planted = (await other.log_in(attacker.email)).cookies["malipo_session"].partition(";")[0]
        entered = await business.surfer.post(
            "/dashboard/login", {"email": business.owner.email, "password": PASSWORD}, headers={"Cookie": planted}
        )
        assert entered.cookies["malipo_session"].partition(";")[0] != planted
        assert (await other.get("/dashboard")).status == 303, "what was planted opens nothing any more"


@pytest.mark.parametrize(
    "bend",
    [
        lambda value: value[:-1] + ("0" if value[-1] != "0" else "1"),
        lambda value: value.partition(".")[0],
        lambda value: value.partition(".")[0] + ".",
    ],
)
async def test_a_cookie_that_we_did_not_make_is_nobodys(business: Business, bend: object) -> None:
    value = (
        (await business.surfer.log_in(business.owner.email))
        .cookies["malipo_session"]
        .partition(";")[0]
        .partition("=")[2]
    )
    assert callable(bend)
    async with surfing(business.surfer.url) as thief:
        assert (await thief.get("/dashboard", headers={"Cookie": f"malipo_session={value}"})).status == 200
        assert (await thief.get("/dashboard", headers={"Cookie": f"malipo_session={bend(value)}"})).status == 303


PAGES = {
    "the log-in": ("GET", "/dashboard/login", 200),
    "a dead link": ("GET", "/dashboard/password?token=mpl_x", 400),
    "a page for people, seen by nobody": ("GET", "/dashboard", 303),
    "nothing": ("GET", "/dashboard/nothing", 404),
    "not this way": ("DELETE", "/dashboard/login", 405),
    "a form from elsewhere": ("POST", "/dashboard/login", 403),
    "the style": ("GET", "/dashboard/static/site.css", 200),
    "a script": ("GET", "/dashboard/static/live.js", 200),
    "a picture": ("GET", "/dashboard/static/icon.svg", 200),
    "no such file": ("GET", "/dashboard/static/nothing.css", 404),
    "a file of another kind": ("GET", "/dashboard/static/app.py", 404),
}


async def test_every_style_script_and_picture_that_a_page_names_is_there(nobody: Surfer) -> None:
    named = set(re.findall(r'(?:href|src)="(/dashboard/static/[^"]+)"', (await nobody.get("/dashboard/login")).text))
    assert {path.partition("?v=")[0] for path in named} == {
        f"/dashboard/static/{each}" for each in ("site.css", "site.js", "icon.svg")
    }
    assert {path: (await nobody.get(path)).status for path in named} == dict.fromkeys(named, 200)


@pytest.mark.parametrize(("method", "path", "status"), PAGES.values(), ids=PAGES)
async def test_every_answer_has_headers_that_let_nothing_in(
    nobody: Surfer, method: str, path: str, status: int
) -> None:
    sent = {"Origin": "https://evil.example"} if method == "POST" else {}
    seen = await nobody.get(path, method=method, headers=sent)
    assert seen.status == status
    policy = seen.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert seen.headers["X-Content-Type-Options"] == "nosniff"
    assert seen.headers["X-Frame-Options"] == "DENY"
    assert seen.headers["Referrer-Policy"] == "same-origin"
    assert seen.headers["Cache-Control"] == ("max-age=300" if "static" in path and status == 200 else "no-store")


async def test_pages_of_somebody_logged_in_are_never_kept_by_the_browser(business: Business) -> None:
    entered = await business.surfer.log_in(business.owner.email)
    assert entered.headers["Cache-Control"] == "no-store"
    assert (await business.surfer.get("/dashboard")).headers["Cache-Control"] == "no-store"


OUTSIDE = [
    "https://evil.example/", "//evil.example", "/\\evil.example", "/dashboard\\..\\evil", "/dashboard//evil.example",
    "/dashboard/..//evil.example", "javascript:alert(1)", "/dashboardevil", "/v1/payments", "/dashboard/\nx: y", "",
]  # fmt: skip


async def test_neither_a_log_in_nor_a_language_leads_outside(business: Business) -> None:
    for place in OUTSIDE:
        assert (await business.surfer.log_in(business.owner.email, next=place)).to == "/dashboard", place
        assert (await business.surfer.post("/dashboard/language", {"next": place})).to == "/dashboard", place


@pytest.mark.parametrize(
    "place", ["/dashboard", "/dashboard/wallet", "/dashboard/transactions?search=a//b&status=FAILED"]
)
async def test_after_the_log_in_one_is_where_one_wanted_to_be(business: Business, place: str) -> None:
    assert (await business.surfer.log_in(business.owner.email, next=place)).to == place


async def test_who_is_sent_to_the_log_in_comes_back_to_the_same_page(nobody: Surfer) -> None:
    sent = await nobody.get("/dashboard?days=30")
    assert (sent.status, sent.to) == (303, "/dashboard/login?next=/dashboard%3Fdays%3D30")
    assert 'name="next" value="/dashboard?days=30"' in (await nobody.get(sent.to)).text


async def test_a_form_that_came_too_late_does_not_lead_back_to_a_page_that_is_none(nobody: Surfer) -> None:
    late = await nobody.post("/dashboard/logout")
    assert (late.status, late.to) == (303, "/dashboard/login")


async def test_a_wrong_password_and_an_unknown_email_look_the_same(business: Business) -> None:
    wrong = await business.surfer.log_in(business.owner.email, "not it")
    unknown = await business.surfer.log_in("nobody@example.com", "not it")
    assert wrong.status == unknown.status == 400
    assert wrong.text.replace(business.owner.email, "?") == unknown.text.replace("nobody@example.com", "?")
    assert "The email or the password is not right." in wrong.words
    assert "not it" not in wrong.text, "a password is never sent back"


async def test_after_five_guesses_even_the_right_password_waits(business: Business) -> None:
    for n in range(5):
        assert (await business.surfer.log_in(business.owner.email, f"guess {n}")).status == 400
    seen = await business.surfer.log_in(business.owner.email)
    assert seen.status == 429
    assert 0 < int(seen.headers["Retry-After"]) <= 900
    assert "Too many attempts." in seen.words
    assert await business.sessions() == []
    async with surfing(business.surfer.url, seen_from=f"10.21.0.{next(numbers)}") as elsewhere:
        assert (await elsewhere.log_in(business.owner.email)).status == 303, "a stranger's guesses lock nobody out"


async def test_a_merchant_who_is_deactivated_is_out_at_once(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    async with business.database.begin() as tx:
        await onboard.set_active(tx, business.merchant_id, is_active=False, actor=NOBODY, now=clock.now())
    assert not await business.is_in()
    seen = await business.surfer.log_in(business.owner.email)
    assert seen.status == 400
    assert "This business is not active." in seen.words


async def test_a_session_opens_nothing_while_its_merchant_is_not_active(business: Business) -> None:
    """Also one that was begun in the very moment: it is asked on every page, and not only ended once."""
    await business.surfer.log_in(business.owner.email)
    async with business.database.begin() as tx:
        await merchants.set_active(tx, business.merchant_id, is_active=False)
    assert not await business.is_in()


@pytest.mark.parametrize("path", ["/dashboard/login", "/dashboard/static/site.css", "/dashboard/nothing"])
async def test_head_is_get_without_the_page(nobody: Surfer, path: str) -> None:
    full, head = await nobody.get(path), await nobody.get(path, method="HEAD")
    assert (head.status, head.text) == (full.status, "")
    assert head.headers["Content-Length"] == full.headers["Content-Length"]


async def test_what_is_not_there_is_said_in_our_frame_with_a_way_back(business: Business) -> None:
    stranger = await business.surfer.get("/dashboard/nothing")
    assert stranger.status == 404
    assert 'href="/dashboard/login"' in stranger.text
    await business.surfer.log_in(business.owner.email)
    known = await business.surfer.get("/dashboard/nothing")
    assert known.status == 404
    assert 'href="/dashboard/transactions"' in known.text
    assert (await business.surfer.post("/dashboard/language", {"language": "sw"})).status == 303, "its forms work too"


async def test_names_are_words_and_never_markup(running: Running, database: Database) -> None:
    merchant = await make_merchant(database, name="<script>alert('duka')</script>")
    email = f"asha+{secrets.token_hex(6)}@example.com"
    await add_person(database, merchant.id, email, Role.OWNER, name='"><img src=x onerror=alert(1)>')
    async with surfing(running.url, seen_from=f"10.22.0.{next(numbers)}") as surfer:
        await surfer.log_in(email)
        seen = await surfer.get("/dashboard")
        assert "<script>alert" not in seen.text
        assert "&lt;script&gt;alert(&#39;duka&#39;)&lt;/script&gt;" in seen.text
        assert "<img" not in seen.text
        assert "&lt;img src=x onerror=alert(1)&gt;" in seen.text


async def test_what_was_typed_into_the_log_in_comes_back_as_words(nobody: Surfer) -> None:
    seen = await nobody.log_in('"><script>alert(1)</script>', "x", next='/dashboard/"><script>')
    assert seen.status == 400
    assert "<script>" not in seen.text
    assert "&lt;script&gt;alert(1)" in seen.text


async def test_a_notice_is_one_of_ours_and_is_shown_once(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    await business.surfer.post("/dashboard/logout")
    assert "You are logged out." in (await business.surfer.get("/dashboard/login")).words
    assert "You are logged out." not in (await business.surfer.get("/dashboard/login")).words
    foreign = await business.surfer.get("/dashboard/login", headers={"Cookie": "malipo_notice=Send money to 0754"})
    assert "Send money" not in foreign.text


async def test_a_language_is_asked_for_by_the_browser_or_chosen_by_the_person(nobody: Surfer) -> None:
    assert '<html lang="en">' in (await nobody.get("/dashboard/login")).text
    asked = await nobody.get("/dashboard/login", headers={"Accept-Language": "sw-TZ,sw;q=0.9,en;q=0.8"})
    assert '<html lang="sw">' in asked.text
    chosen = await nobody.post("/dashboard/language", {"language": "sw", "next": "/dashboard/login?next=/dashboard"})
    assert (chosen.status, chosen.to) == (303, "/dashboard/login?next=/dashboard")
    assert '<html lang="sw">' in (await nobody.get("/dashboard/login", headers={"Accept-Language": "en"})).text


async def test_a_language_that_we_do_not_speak_is_not_chosen(nobody: Surfer) -> None:
    seen = await nobody.post("/dashboard/language", {"language": "../../etc", "next": "//evil.example"})
    assert (seen.status, seen.to) == (303, "/dashboard")
    assert "malipo_language" not in seen.cookies
    odd = await nobody.get("/dashboard/login", headers={"Cookie": "malipo_language=../sw"})
    assert '<html lang="en">' in odd.text


@pytest.mark.parametrize("body", [b"email=" + b"x" * 70_000, b"\xff\xfe", b"&".join([b"a=1"] * 300)])
async def test_a_form_that_cannot_be_read_is_answered_with_a_page(nobody: Surfer, body: bytes) -> None:
    async with nobody.http.post(f"{nobody.url}/dashboard/login", data=body) as answer:
        assert answer.status == 400
        assert "<h1>" in await answer.text()
