"""Secrets may stand in files, are never repeated to anybody, and what a network needs is said all at once."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from malipo.networks.connector import Channel, Type
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import connect
from malipo.settings import Settings
from malipo.settings.environment import BadSettings, is_secret, read, variable
from tests.networks.rsa_keys import AIRTEL_MONEY_PUBLIC_KEY, MPESA_PUBLIC_KEY
from tests.test_docs import example_of, table

# Every secret, with the value that the docs give as an example.
EXAMPLES = {row[0]: example_of(row) for row in table("settings.md", 4)}
SECRETS = {each.name: EXAMPLES[variable(each.name)] for each in fields(Settings) if is_secret(each)}


def complaint(environment: dict[str, str]) -> str:
    """Everything that anybody could be shown of what is wrong with these settings."""
    with pytest.raises(BadSettings) as caught:
        read(environment)
    error = caught.value
    assert all(sentence.startswith("MALIPO_") and sentence.endswith(".") for sentence in error.sentences)
    return "\n".join([*error.sentences, str(error), repr(error)])


def test_keys_tokens_pins_and_passwords_are_secrets() -> None:
    named = re.compile(r"secret|token$|pin$|password|key$|database_url")
    no_secrets = {"mpesa_public_key", "airtel_money_public_key", "azampay_public_key"}
    assert {each.name for each in fields(Settings) if named.search(each.name)} - no_secrets <= set(SECRETS)
    assert set(SECRETS) >= {"secret_key", "database_url", "mpesa_api_key", "airtel_money_pin"}


@pytest.mark.parametrize(("name", "value"), SECRETS.items())
def test_a_secret_may_stand_in_a_file(name: str, value: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{value}\n")

    settings = read({f"{variable(name)}_FILE": str(file)})

    assert getattr(settings, name) is not None
    assert settings == read({variable(name): value})


@pytest.mark.parametrize(("name", "value"), SECRETS.items())
def test_a_secret_that_is_set_twice_is_refused(name: str, value: str, tmp_path: Path) -> None:
    (file := tmp_path / "secret").write_text(value)
    reported = complaint({variable(name): value, f"{variable(name)}_FILE": str(file)})
    assert "set twice" in reported
    assert value not in reported


@pytest.mark.parametrize(("name", "value"), SECRETS.items())
def test_a_secret_in_a_file_keeps_to_the_same_rules_and_is_not_repeated(name: str, value: str, tmp_path: Path) -> None:
    for content in (f"x {value} y", "\n", ""):
        (file := tmp_path / "secret").write_text(content)
        reported = complaint({f"{variable(name)}_FILE": str(file)})
        assert f"{variable(name)} must" in reported
        assert value not in reported


def test_a_file_that_cannot_be_read_is_one_sentence_with_its_name_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"hunter2\xff\xfe")
    for file, reason in (
        ("nowhere", "No such file or directory"),
        ("", "Is a directory"),
        ("binary", "it is not text"),
    ):
        with pytest.raises(BadSettings) as caught:
            read({"MALIPO_SECRET_KEY_FILE": str(tmp_path / file)})
        [sentence] = caught.value.sentences
        assert sentence == f"MALIPO_SECRET_KEY cannot be read from the file '{tmp_path / file}': {reason}."
        assert "hunter2" not in complaint({"MALIPO_SECRET_KEY_FILE": str(tmp_path / file)})


def test_what_is_no_secret_cannot_stand_in_a_file(tmp_path: Path) -> None:
    (file := tmp_path / "value").write_text("8080")
    for each in fields(Settings):
        if not is_secret(each):
            name = f"{variable(each.name)}_FILE"
            assert f"{name} is not a setting of malipo" in complaint({name: str(file)})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MALIPO_SECRET_KEY", "hunter2"),
        ("MALIPO_METRICS_TOKEN", "hunter2"),
        ("MALIPO_DATABASE_URL", "mysql://malipo:hunter2@db"),
        ("MALIPO_MPESA_API_KEY", "hunter2 hunter2"),
        ("MALIPO_MPESA_CALLBACK_TOKEN", "hunter2"),
        ("MALIPO_AIRTEL_MONEY_PIN", "hunter2"),
        ("MALIPO_AIRTEL_MONEY_CLIENT_SECRET", "hunter2 \n"),
        ("MALIPO_MPESA_API_KY", "hunter2"),
        ("MALIPO_MPESA_BASE_URL", "https://malipo:hunter2@openapi.example.com"),
        ("MALIPO_AIRTEL_MONEY_BASE_URL", "https://openapi.example.com/?key=hunter2"),
    ],
)
def test_a_complaint_never_repeats_what_may_be_secret(name: str, value: str) -> None:
    reported = complaint({name: value})
    assert name in reported
    assert "hunter2" not in reported


def test_settings_do_not_show_their_secrets_to_whoever_prints_them() -> None:
    settings = read({variable(name): value for name, value in SECRETS.items()})
    shown = f"{settings!r} {settings}"
    assert [name for name, value in SECRETS.items() if value in shown] == []


MPESA = {
    "mpesa_base_url": "https://openapi.example.com",
    "mpesa_api_key": SECRETS["mpesa_api_key"],
    "mpesa_public_key": MPESA_PUBLIC_KEY,
    "mpesa_service_provider_code": "174379",
}
AIRTEL = {
    "airtel_money_base_url": "https://openapi.example.co.tz",
    "airtel_money_client_id": "5f3c0e7a",
    "airtel_money_client_secret": SECRETS["airtel_money_client_secret"],
    "airtel_money_pin": SECRETS["airtel_money_pin"],
    "airtel_money_public_key": AIRTEL_MONEY_PUBLIC_KEY,
}


def settings_of(given: dict[str, str]) -> Settings:
    return read({variable(name): value for name, value in given.items()})


def missing(given: dict[str, str]) -> list[str]:
    with pytest.raises(BadSettings) as caught:
        connect(settings_of(given), HttpClient())
    return caught.value.sentences


def test_nothing_is_connected_unless_its_address_is_set() -> None:
    assert connect(Settings(), HttpClient()).connectors == {}
    rest = {name: value for name, value in (MPESA | AIRTEL).items() if not name.endswith("base_url")}
    assert connect(settings_of(rest), HttpClient()).connectors == {}


def test_everything_that_is_missing_for_every_network_is_said_at_once() -> None:
    bare = {name: value for name, value in (MPESA | AIRTEL).items() if name.endswith("base_url")}
    assert missing(bare) == [
        f"{variable(name)} is needed and not set (see docs/settings.md)."
        for name in [*MPESA, *AIRTEL]
        if not name.endswith("base_url")
    ]


def test_one_network_does_not_ask_for_what_another_needs() -> None:
    networks = connect(settings_of(MPESA), HttpClient())
    assert list(networks.connectors) == ["mpesa"]
    assert networks.routes == {(Channel.MPESA, type_): "mpesa" for type_ in Type}
    without_pin = {name: value for name, value in AIRTEL.items() if name != "airtel_money_pin"}
    assert missing(without_pin) == ["MALIPO_AIRTEL_MONEY_PIN is needed and not set (see docs/settings.md)."]


def test_callbacks_come_in_only_where_a_token_is_set() -> None:
    assert connect(settings_of(MPESA), HttpClient()).callback_access == {}
    token = SECRETS["mpesa_callback_token"]
    given = MPESA | {"mpesa_callback_token": token, "mpesa_callback_networks": "196.201.214.0/24"}
    [(name, access)] = connect(settings_of(given), HttpClient()).callback_access.items()
    assert (name, access.token, [str(each) for each in access.allowed]) == ("mpesa", token, ["196.201.214.0/24"])


def test_a_network_that_cannot_be_asked_must_know_where_its_callbacks_come_from() -> None:
    bare = {
        "halopesa_url": "https://halopesa.example.co.tz",
        **{f"halopesa_{name}": EXAMPLES[f"MALIPO_HALOPESA_{name.upper()}"] for name in ("username", "password")},
        **{f"halopesa_{name}": EXAMPLES[f"MALIPO_HALOPESA_{name.upper()}"] for name in ("secret_key", "account")},
    }
    assert missing(bare) == [
        "MALIPO_HALOPESA_CALLBACK_TOKEN is needed and not set (see docs/settings.md).",
        "MALIPO_HALOPESA_CALLBACK_NETWORKS is needed and not set (see docs/settings.md).",
    ]
    listed = {
        "halopesa_callback_token": SECRETS["halopesa_callback_token"],
        "halopesa_callback_networks": "41.59.0.0/24",
    }
    assert list(connect(settings_of(bare | listed), HttpClient()).connectors) == ["halopesa"]


# Not RSA but an elliptic curve, secp384r1.
CURVE = (
    "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEeBgFfqjhj0kRwJ+DbId/smybuOahPbon5zooVgsHrRYZZIOOUXXuZ+8R6xpPg1tuIS+udnR1v+c+"
    "VtWCK7ZHJBMBfb2x2vQjkJKU7a2RisxXmq9eNkjd6jIdUoXOQ6vy"
)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("A" * 200, "is not the base64 text of a public key."),
        (MPESA_PUBLIC_KEY[:-8], "is not the base64 text of a public key."),
        (CURVE, "is not an RSA key."),
    ],
)
def test_a_public_key_that_is_none_is_one_sentence(key: str, words: str) -> None:
    assert missing(MPESA | {"mpesa_public_key": key}) == [f"MALIPO_MPESA_PUBLIC_KEY {words}"]
    assert missing(AIRTEL | {"airtel_money_public_key": key}) == [f"MALIPO_AIRTEL_MONEY_PUBLIC_KEY {words}"]


def test_a_secret_that_the_public_key_is_too_short_for_is_said_at_the_start() -> None:
    [sentence] = missing(MPESA | {"mpesa_api_key": "k" * 600})
    assert "MALIPO_MPESA_API_KEY" in sentence
    assert "k" * 600 not in sentence
