"""Settings → Messages: each person chooses which e-mails to get, and in which language."""

from html import unescape

import pytest

from malipo.messages.kinds import OF_PEOPLE, MessageKind
from malipo.messages.store import choices
from malipo.messages.store.choices import Choice
from tests.dashboard.business import Business
from tests.dashboard.business import business as business
from tests.dashboard.page_client import Seen

PATH = "/dashboard/settings/messages"


def checked(seen: Seen) -> set[str]:
    """The values of checked boxes and radio buttons."""
    boxes = [each.split(">")[0] for each in seen.text.split("<input")[1:]]
    return {unescape(box.split('value="')[1].split('"')[0]) for box in boxes if box.endswith(" checked")}


async def test_what_is_chosen_is_stored_and_shown_again(business: Business) -> None:
    surfer = business.surfer
    await surfer.log_in(business.owner.email)
    first = await surfer.get(PATH)
    assert checked(first) == {*OF_PEOPLE} - {MessageKind.WALLET_LOW, MessageKind.DAILY_SUMMARY} | {"en"}
    assert "A new API key" in first.words, "among those that cannot be switched off"

    form = [
        ("kinds", MessageKind.BATCH_FAILED),
        ("kinds", MessageKind.WALLET_LOW),
        ("below", "500,000"),
        ("language", "sw"),
    ]
    done = await surfer.post(PATH, form)

    assert (done.status, done.to) == (303, PATH)
    again = await surfer.get(PATH)
    assert checked(again) == {MessageKind.BATCH_FAILED, MessageKind.WALLET_LOW, "sw"}
    assert 'value="500,000"' in again.text
    async with business.database.read() as connection:
        stored = await choices.find(connection, business.owner.id)
        assert await choices.language_of(connection, business.owner.id) == "sw"
    assert stored[MessageKind.WALLET_LOW] == Choice(is_wanted=True, amount=500_000)
    assert stored[MessageKind.PAYOUTS_FAILED] == Choice(is_wanted=False)
    assert set(stored) == set(OF_PEOPLE)


@pytest.mark.parametrize("below", ["", "0", "-5", "many", "9" * 30])
async def test_a_low_wallet_needs_an_amount(business: Business, below: str) -> None:
    await business.surfer.log_in(business.owner.email)

    seen = await business.surfer.post(PATH, [("kinds", MessageKind.WALLET_LOW), ("below", below), ("language", "en")])

    assert seen.status == 400
    assert 'aria-invalid="true"' in seen.text
    async with business.database.read() as connection:
        assert await choices.find(connection, business.owner.id) == {}


async def test_what_cannot_be_chosen_is_not_stored(business: Business) -> None:
    """Neither what is about safety, nor a kind of operators, nor a language that there is not."""
    await business.surfer.log_in(business.owner.email)

    form = [
        ("kinds", MessageKind.KEY_CREATED),
        ("kinds", MessageKind.PROPOSAL_WAITING),
        ("kinds", "x"),
        ("language", "fr"),
    ]
    assert (await business.surfer.post(PATH, form)).status == 303

    async with business.database.read() as connection:
        stored = await choices.find(connection, business.owner.id)
        assert await choices.language_of(connection, business.owner.id) is None
    assert (set(stored), {each.is_wanted for each in stored.values()}) == (set(OF_PEOPLE), {False})


async def test_the_page_is_in_kiswahili(business: Business) -> None:
    await business.surfer.log_in(business.owner.email)

    seen = await business.surfer.get(PATH, headers={"Accept-Language": "sw"})

    assert "Nitumie barua pepe kuhusu" in seen.words
    assert "Benki imerudisha malipo ya biashara" in seen.words
