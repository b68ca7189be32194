"""/dashboard/settings/payments: an owner makes the Idempotency-Key mandatory; and what API keys have done."""

import aiohttp

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import key_at
from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from malipo.payments import failure_reasons
from tests.conftest import COLLECTION, NOBODY, Client
from tests.dashboard.business import Business
from tests.dashboard.business import business as business

PATH = "/dashboard/settings/payments"
ACTIVITY = "/dashboard/settings/activity"


async def a_key(business: Business) -> tuple[str, str]:
    """Its id and its text."""
    async with business.database.begin() as tx:
        key = await issue_api_keys.create_key(
            tx,
            business.merchant_id,
            KeyTerms(name="Web shop", permissions=tuple(Permission), environment=Environment.LIVE, brand="mlp"),
            actor=NOBODY,
            now=clock.now(),
        )
    return key.id, key.text


async def test_an_owner_makes_the_key_mandatory_and_optional_again(business: Business) -> None:
    _, text = await a_key(business)
    surfer = business.surfer
    await surfer.log_in(business.owner.email)
    assert "Require an Idempotency-Key" in (await surfer.get(PATH)).words
    async with aiohttp.ClientSession() as http:
        api = Client(http, surfer.url, text)

        done = await surfer.post(f"{PATH}/idempotency-key", {"required": "yes"})
        assert (done.status, done.to) == (303, PATH)
        assert "An Idempotency-Key is required" in (await surfer.get(PATH)).words
        assert (await api("POST", "/v1/payments", COLLECTION)).code == "idempotency_key_required"

        await surfer.post(f"{PATH}/idempotency-key", {"required": "no"})
        assert (await api("POST", "/v1/payments", COLLECTION)).status == 201

    page = (await surfer.get(ACTIVITY)).words
    assert page.index("No longer required an Idempotency-Key") < page.index("Required an Idempotency-Key for what")


async def test_deciding_the_same_again_is_no_deed(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)
    for _ in range(3):
        await business.surfer.post(f"{PATH}/idempotency-key", {"required": "yes"})

    async with business.database.read() as connection:
        deeds = await audit_log.find(connection, merchant_id=business.merchant_id, limit=20)
    assert [each.action for each in deeds].count("idempotency_key.required") == 1


async def test_acts_of_a_key_are_shown_with_its_name_also_when_it_is_revoked(business: Business) -> None:
    key_id, text = await a_key(business)
    async with business.database.begin() as tx:
        await audit_log.append(
            tx,
            key_at(key_id, "41.59.1.20"),
            "webhook.registered",
            now=clock.now(),
            merchant_id=business.merchant_id,
            url="https://shop.example.com/",
        )
        await issue_api_keys.revoke_key(tx, business.merchant_id, key_id, actor=NOBODY, now=clock.now())
    await business.surfer.log_in(business.owner.email)

    words = (await business.surfer.get(ACTIVITY)).words
    assert f"The API key “Web shop” that ends in {text[-4:]}" in words
    assert "From 41.59.1.20" in words


def test_pages_say_why_a_payment_failed_as_the_api_does() -> None:
    words = Translator(Language.KISWAHILI)
    for code, sentence in failure_reasons.FAILURE_REASONS.items():
        assert words(sentence) == failure_reasons.IN_KISWAHILI[code]
    for detail, sentence in failure_reasons.DETAILED_REASONS.items():
        assert words(sentence) == failure_reasons.DETAILED_IN_KISWAHILI[detail]
