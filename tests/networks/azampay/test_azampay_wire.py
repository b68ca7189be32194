"""What only AzamPay's requests have: the bank of a channel, what signs them, and by which name a payout is asked about."""

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from msgspec.structs import replace

from malipo.networks.azampay.connector import Azampay
from malipo.networks.connector import Channel, Type, Verdict
from malipo.networks.http.client import HttpClient
from malipo.settings import Settings
from tests.networks.azampay.connector import Connect, asked, assert_checksum, assert_headers, sent
from tests.networks.azampay.connector import azampay as azampay
from tests.networks.azampay.connector import offline as offline
from tests.networks.azampay_spec import (
    ACCEPTED,
    ACCEPTED_ORDER,
    DISBURSEMENT,
    NETWORK_ID,
    PAID_OUT,
    RECEIPT,
    TOKEN,
    query_reply,
    settings,
)
from tests.networks.rsa_keys import AIRTEL_MONEY_PUBLIC_KEY
from tests.networks.scripted_server import ScriptedServer
from tests.networks.verdict_words import SUCCESS

# What is sent.


@pytest.mark.parametrize(
    ("channel", "bank"),
    [
        (Channel.MPESA, "Vodacom"),
        (Channel.TIGO_PESA, "Yas"),
        (Channel.AIRTEL_MONEY, "Airtel"),
        (Channel.HALOPESA, "Halotel"),
    ],
)
async def test_the_channel_names_the_network_whatever_the_number_looks_like(
    server: ScriptedServer, azampay: Connect, channel: Channel, bank: str
) -> None:
    order = replace(DISBURSEMENT, channel=channel)
    await sent(server, azampay, ACCEPTED, order)
    assert json.loads(server.requests[1].body)["destination"]["bankName"] == bank


async def test_the_names_of_networks_the_transfer_and_the_source_are_settings(
    server: ScriptedServer, azampay: Connect
) -> None:
    changes: dict[str, Any] = {
        "azampay_halopesa_bank": "Halopesa",
        "azampay_transfer_type": "MNO",
        "azampay_source_bank": "CRDB",
    }
    await sent(server, azampay, ACCEPTED, **changes)
    said = json.loads(server.requests[1].body)
    assert said["destination"]["bankName"] == "Halopesa"
    assert (said["transferDetails"]["type"], said["source"]["bankName"]) == ("MNO", "CRDB")


async def test_what_the_checksum_is_taken_over_is_a_setting(server: ScriptedServer, azampay: Connect) -> None:
    fields = ("destination.bankName", "destination.accountNumber", "externalReferenceId", "transferDetails.amount")
    await sent(server, azampay, ACCEPTED, azampay_checksum_fields=fields)
    assert_checksum(json.loads(server.requests[1].body)["checksum"], "Halotel2556223456780K3ABCDEFGHJ5678250000")


async def test_a_payout_without_a_name_or_a_note_has_words_in_their_place(
    server: ScriptedServer, azampay: Connect
) -> None:
    order = replace(DISBURSEMENT, name="", note="???")
    await sent(server, azampay, ACCEPTED, order)
    said = json.loads(server.requests[1].body)
    assert (said["destination"]["fullName"], said["remarks"]) == ("Customer", "Payout")


async def test_an_acceptance_gives_their_id_which_the_query_then_asks_for(
    server: ScriptedServer, azampay: Connect
) -> None:
    accepted = await sent(server, azampay, ACCEPTED)
    assert accepted.network_id == NETWORK_ID
    assert NETWORK_ID in accepted.detail  # Operators need it when they call AzamPay.
    assert accepted.provider_reference is None
    answer = await asked(server, azampay, PAID_OUT)
    SUCCESS.check(answer)
    assert (answer.provider_reference, answer.amount) == (RECEIPT, 250000)
    assert _query(server) == {"pgReferenceId": NETWORK_ID, "bankName": "Halotel"}
    assert_headers(server.requests[-1], TOKEN)


async def test_a_payout_whose_acceptance_was_lost_is_asked_about_by_our_reference(
    server: ScriptedServer, azampay: Connect
) -> None:
    SUCCESS.check(await asked(server, azampay, PAID_OUT, DISBURSEMENT))
    assert _query(server) == {"externalReferenceId": "0K3ABCDEFGHJ5678", "bankName": "Halotel"}


async def test_a_question_without_a_channel_is_put_all_the_same(server: ScriptedServer, azampay: Connect) -> None:
    SUCCESS.check(await asked(server, azampay, query_reply(status="success"), replace(ACCEPTED_ORDER, channel=None)))
    assert server.requests[-1].target.endswith(f"?pgReferenceId={NETWORK_ID}")


# The rest of the contract.


def test_an_account_without_the_query_is_not_asked(offline: Connect) -> None:
    assert not offline(azampay_query=False).can_query(Type.DISBURSEMENT)


async def test_azampay_collects_nothing(server: ScriptedServer, azampay: Connect) -> None:
    order = replace(DISBURSEMENT, type=Type.COLLECTION)
    answer = await azampay().send(order)
    assert (answer.verdict, answer.refuses_us) == (Verdict.REFUSED, True)
    assert server.requests == []


@pytest.mark.parametrize("key", ["", "AAAA", AIRTEL_MONEY_PUBLIC_KEY[:-20]])
def test_a_key_that_cannot_sign_is_no_connector(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        Azampay(Settings(**settings(9) | {"azampay_public_key": key}), HttpClient())


def _query(server: ScriptedServer) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(server.requests[-1].target).query))
