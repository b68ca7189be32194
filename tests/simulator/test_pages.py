"""The pages: what they show, what they refuse, and that nothing a stranger wrote is ever more than text."""

import asyncio
import re

import pytest

from malipo_simulator.behaviour import TABLE
from malipo_simulator.switch_descriptions import WORDS
from tests.simulator.airtel import Airtel
from tests.simulator.conftest import SPEED
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import ROOT, Sim

PATIENT = "+255754123100"
PAGE = "/phones/%2B255754123100"

pytestmark = pytest.mark.usefixtures("unhurried")


async def get(sim: Sim, path: str, *, status: int = 200) -> str:
    async with sim.http.get(sim.url + path) as answer:
        assert answer.status == status
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        return await answer.text()


async def press(sim: Sim, id_: str, *, headers: dict[str, str] | None = None, **form: str) -> tuple[int, str]:
    address = f"{sim.url}{PAGE}/prompts/{id_}"
    async with sim.http.post(address, data=form, headers=headers, allow_redirects=False) as answer:
        return answer.status, await answer.text()


async def waiting(sim: Sim) -> str:
    id_: str = (await sim("GET", "/api/prompts"))[0]["id"]
    return id_


def words(html: str) -> str:
    """What a reader sees, more or less."""
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", html)).replace("&#39;", "'").replace("&#34;", '"')


async def test_the_first_page_offers_a_phone_of_every_network(sim: Sim) -> None:
    text = await get(sim, "/")
    for name in ("M-Pesa", "Airtel Money", "Tigo Pesa", "HaloPesa"):
        assert name in text
    assert 'action="/pick-up"' in text
    assert "None yet." in text


async def test_a_phone_in_use_is_on_the_first_page(sim: Sim, mpesa: Mpesa, airtel: Airtel) -> None:
    await airtel.disburse("+255684123456")
    await mpesa.collect(PATIENT)
    text = words(await get(sim, "/"))
    assert text.index("1 waiting +255 754 123 100 TZS 1,000,000") < text.index("+255 684 123 456 TZS 1,001,000")
    assert "1 waiting" in await get(sim, "/recent")


@pytest.mark.parametrize("number", ["0754 123 100", "+255754123100", "255-754-123-100"])
async def test_a_phone_is_picked_up_however_its_number_is_written(sim: Sim, number: str) -> None:
    async with sim.http.get(f"{sim.url}/pick-up", params={"phone": number}, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, PAGE)


async def test_what_is_no_number_is_said_to_be_none(sim: Sim) -> None:
    text = await get(sim, "/pick-up?phone=%3Cb%3E12", status=400)
    assert "not a Tanzanian mobile number" in text
    assert 'value="&lt;b&gt;12"' in text


async def test_a_prompt_is_on_the_screen_in_two_languages(sim: Sim, mpesa: Mpesa) -> None:
    assert "Hakuna ujumbe" in await get(sim, PAGE)
    await mpesa.collect(PATIENT, 12_500)
    for path in (PAGE, f"{PAGE}/screen"):
        text = words(await get(sim, path))
        assert "Lipa TZS 12,500 kwa Demo Shop ?" in text
        assert "Pay TZS 12,500 to Demo Shop?" in text
        assert "Weka namba ya siri" in text


async def test_approving_on_the_phone_pays_and_sends_a_message(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect(PATIENT, 12_500)
    assert await press(sim, await waiting(sim), action="approve", pin="1234") == (303, "")
    assert await sim.charged(PATIENT) == [("charged", 12_500)]
    text = words(await get(sim, PAGE))
    assert "Umelipa TZS 12,500 kwa Demo Shop. Salio jipya ni TZS 987,500." in text
    assert "Confirmed. You paid TZS 12,500 to Demo Shop. New balance TZS 987,500." in text
    assert "Lipa" not in text
    assert "−12,500 987,500" in text


async def test_declining_on_the_phone_needs_no_pin(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect(PATIENT)
    assert (await press(sim, await waiting(sim), action="decline"))[0] == 303
    assert "You declined to pay TZS 1,000 to Demo Shop." in await get(sim, PAGE)
    assert await sim.charged(PATIENT) == []


async def test_a_phone_shows_money_that_went_back(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=SPEED)
    await mpesa.collect("+255754123112", 1500)
    await mpesa.disburse("+255765123112", 700)
    async with asyncio.timeout(240):
        while len((await sim("GET", "/api/book"))["movements"]) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    text = words(await get(sim, "/phones/0754123112"))
    assert "Reversed. You got back TZS 1,500 that you paid to Demo Shop. New balance TZS 1,000,000." in text
    assert "Paid back M-Pesa" in text
    text = words(await get(sim, "/phones/0765123112"))
    assert "Reversed. TZS 700 from Demo Shop was taken back. New balance TZS 1,000,000." in text
    assert "Charged back M-Pesa" in text


@pytest.mark.parametrize("pin", ["", "12", "12345", "abcd", "١٢٣٤"])
async def test_a_pin_is_four_digits(sim: Sim, mpesa: Mpesa, pin: str) -> None:
    await mpesa.collect(PATIENT)
    status, text = await press(sim, await waiting(sim), action="approve", pin=pin)
    assert status == 400
    assert "The PIN is four digits." in text
    assert (await sim("GET", "/api/prompts"))[0]["state"] == "waiting"


async def test_a_page_is_not_drawn_anew_before_something_changes(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect(PATIENT)
    async with sim.http.get(f"{sim.url}{PAGE}/screen") as answer:
        version = answer.headers["X-Version"]
    _, complaining = await press(sim, await waiting(sim), action="approve", pin="12")
    for text in (await get(sim, PAGE), complaining):
        assert f'data-version="{version}"' in text
    await press(sim, await waiting(sim), action="decline")
    assert f'data-version="{version}"' not in await get(sim, PAGE)


async def test_a_button_pressed_too_late_shows_what_became_of_it(sim: Sim, mpesa: Mpesa) -> None:
    await sim.control(speed=SPEED)
    await mpesa.collect(PATIENT)
    id_ = await waiting(sim)
    await asyncio.sleep(122 / SPEED)
    assert (await press(sim, id_, action="approve", pin="1234"))[0] == 303
    assert "has run out" in await get(sim, PAGE)
    assert await sim.charged(PATIENT) == []


async def test_a_phone_answers_only_its_own_prompts(sim: Sim, mpesa: Mpesa) -> None:
    await mpesa.collect("+255754999100")
    assert (await press(sim, await waiting(sim), action="approve", pin="1234"))[0] == 303
    assert (await sim("GET", "/api/prompts"))[0]["state"] == "waiting"


@pytest.mark.parametrize(
    ("form", "headers", "status"),
    [
        ({"action": "eat"}, {}, 400),
        ({"action": "approve", "pin": "1234"}, {"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
async def test_a_button_that_is_not_there_does_nothing(
    sim: Sim, mpesa: Mpesa, form: dict[str, str], headers: dict[str, str], status: int
) -> None:
    await mpesa.collect(PATIENT)
    assert (await press(sim, await waiting(sim), headers=headers, **form))[0] == status
    assert (await sim("GET", "/api/prompts"))[0]["state"] == "waiting"


@pytest.mark.parametrize("path", ["/nothing", "/phones/12", "/static/views.py", "/static/..%2Fviews.py"])
async def test_what_is_not_there_is_said_on_a_page(sim: Sim, path: str) -> None:
    async with sim.http.get(sim.url + path) as answer:
        assert answer.status in (400, 404)
        assert "To the phones" in await answer.text()


SCRIPT = "<script>alert('1')</script>"


async def test_what_a_stranger_wrote_stays_text(sim: Sim, airtel: Airtel) -> None:
    await sim.control(all={"merchant": SCRIPT})
    for phone in (PATIENT, "+255754123101"):
        body = airtel.collection(phone) | {"reference": SCRIPT}
        assert (await airtel.call("POST", "/merchant/v1/payments/", body=body)).status == 200
    prompt = (await sim("GET", "/api/prompts"))[0]
    await sim("POST", f"/api/prompts/{prompt['id']}", {"action": "decline"})
    paths = ["/", PAGE, f"{PAGE}/screen", "/phones/0754123101", "/seen", f"/seen?phone={SCRIPT}&channel={SCRIPT}"]
    shown = 0
    for path in paths:
        text = await get(sim, path)
        assert "<script>" not in text
        assert "alert('1')" not in text
        shown += text.count("&lt;script&gt;")
    assert shown >= 6


async def test_what_was_seen_is_shown_with_secrets_covered(sim: Sim, airtel: Airtel, mpesa: Mpesa) -> None:
    await airtel.disburse("+255684123456", 1000, "salary7")
    text = await get(sim, "/seen")
    assert "/airtel/standard/v1/disbursements/" in text
    assert "salary7" in text
    assert "<details" in text
    for secret in (airtel.token, airtel.given["clientSecret"], mpesa.bearer):
        assert secret not in text
    assert "salary7" not in await get(sim, "/seen?channel=MPESA")
    assert "salary7" not in await get(sim, "/seen?phone=0754123456")
    assert "salary7" in await get(sim, "/seen?phone=0684123456")
    assert "not a Tanzanian mobile number" in await get(sim, "/seen?phone=12")


def _cells(html: str) -> list[list[str]]:
    """The table of digits, as a page has it."""
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>\s*<td[^>]*>(.*?)</td>\s*<td[^>]*>(.*?)</td>", html, re.DOTALL)
    return [[words(cell).strip() for cell in row] for row in rows]


async def test_table_page_and_docs_say_the_same(sim: Sim) -> None:
    table = [[row.digits, row.collection.words, row.disbursement.words] for row in TABLE]
    assert _cells(await get(sim, "/behaviour")) == table
    assert _cells(await get(sim, "/")) == table
    docs = (ROOT / "docs" / "simulator.md").read_text()
    rows = re.findall(r"^\| `?(any other|1\d\d)`? \| (.*?) \| (.*?) \|$", docs, re.MULTILINE)
    assert [list(row) for row in rows] == table


async def test_the_docs_name_every_route_and_switch(sim: Sim) -> None:
    docs = (ROOT / "docs" / "simulator.md").read_text()
    control = await sim("GET", "/api/control")
    switches: set[str] = {name for channel in control["channels"].values() for name in channel}
    assert switches <= set(re.findall(r"`(\w+)`", docs))
    for route in ("credentials", "callbacks", "prompts", "phones", "book", "transactions", "seen", "reset", "control"):
        assert f"/api/{route}" in docs


async def test_the_page_of_switches_shows_every_one_and_marks_what_was_changed(sim: Sim) -> None:
    control = await sim("GET", "/api/control")
    assert set(WORDS) == {name for channel in control["channels"].values() for name in channel}
    text = await get(sim, "/control")
    for name in WORDS:
        assert f'<th scope="row"><code>{name}</code></th>' in text
    assert "is-changed" not in text
    await sim.control(channels={"MPESA": {"queryError": "INS-999"}}, all={"merchant": SCRIPT})
    changed = await get(sim, "/control")
    assert re.findall(r'<tr class="is-changed"><th scope="row"><code>(\w+)</code>', changed) == [
        "merchant",
        "queryError",
    ]
    assert 'M-Pesa "INS-999" (changed) ' in words(changed).replace("&#34;", '"')
    assert "<script>" not in changed.replace('<script src="/static/live.js" defer>', "")


PAGES = ["/", "/behaviour", "/control", "/seen", PAGE, f"{PAGE}/screen", "/recent", "/nothing"]


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_lets_nothing_in_from_elsewhere(sim: Sim, mpesa: Mpesa, path: str) -> None:
    await mpesa.collect(PATIENT)
    async with sim.http.get(sim.url + path) as answer:
        text, policy = await answer.text(), answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not re.search(r"""(?:src|href|action)=["'](?!/|#)""", text)
    assert " style=" not in text
    assert not re.search(r"\son\w+=", text)


async def test_style_and_script_ask_nobody_else(sim: Sim) -> None:
    for name, kind in (("simulator.css", "text/css"), ("live.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        async with sim.http.get(f"{sim.url}/static/{name}") as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"].startswith(kind)
            text = (await answer.text()).replace("http://www.w3.org/2000/svg", "")
            assert "//" not in text.replace("// ", "")
