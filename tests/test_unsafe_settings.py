"""Settings that would work and are not safe: secrets that can be guessed, and networks that are reached without TLS."""

import secrets
from dataclasses import fields

import pytest

from malipo.settings import Settings
from malipo.settings.environment import BadSettings, read, variable

# What the docs have shown as an example: somebody has copied it.
SHOWN = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"]
ADDRESSES = [  # of networks
    each.name
    for each in fields(Settings)
    if each.name.endswith("_url") and not each.name.startswith(("database_", "public_", "smtp_"))
]


def complaint_of(environment: dict[str, str]) -> str:
    with pytest.raises(BadSettings) as caught:
        read(environment)
    [sentence] = caught.value.sentences
    return sentence


@pytest.mark.parametrize(
    "secret",
    [
        *SHOWN,
        "k" * 40,
        "ab" * 16,
        "benchmark-" * 4,
        "correct-horse-battery-" * 2,
        "0000111122223333444455556666777788889999",
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "9876543210zyxwvutsrqponmlkjihgfedcba",
        "2cb065679966d156a96966b33d1652",
    ],
)
def test_a_secret_that_can_be_guessed_stops_the_start_and_says_how_to_make_one(secret: str) -> None:
    sentence = complaint_of({"MALIPO_SECRET_KEY": secret})
    assert sentence.startswith("MALIPO_SECRET_KEY ")
    assert "openssl rand -hex 32" in sentence
    assert secret not in sentence


@pytest.mark.parametrize("name", ["metrics_token", *(f"{each}_callback_token" for each in ("mpesa", "tigo_pesa"))])
@pytest.mark.parametrize("secret", ["q7Jw2mT9xLpZ4kVb8RsN", "a-long-random-word", "a" * 20, "1234567890123456"])
def test_a_token_that_can_be_guessed_does_too(name: str, secret: str) -> None:
    assert "openssl rand -hex" in complaint_of({variable(name): secret})


def test_a_secret_that_was_drawn_is_accepted_every_time() -> None:
    for _ in range(2000):
        drawn = secrets.token_hex(32)
        assert read({"MALIPO_SECRET_KEY": drawn}).secret_key == drawn
        for text in (secrets.token_hex(20), secrets.token_urlsafe(16)):
            assert read({"MALIPO_MPESA_CALLBACK_TOKEN": text}).mpesa_callback_token == text


@pytest.mark.parametrize("secret", SHOWN)
def test_whoever_has_used_a_weak_secret_can_change_it(secret: str) -> None:
    drawn = secrets.token_hex(32)
    settings = read({"MALIPO_SECRET_KEY": drawn, "MALIPO_SECRET_KEY_PREVIOUS": secret})
    assert settings.secret_key_previous == secret


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_network_is_not_reached_without_tls(name: str) -> None:
    sentence = complaint_of({variable(name): "http://openapi.example.com/sandbox"})
    assert sentence.startswith(f"{variable(name)} must begin with https://")
    assert "MALIPO_ALLOW_HTTP_NETWORKS" in sentence
    assert getattr(read({variable(name): "https://openapi.example.com"}), name) == "https://openapi.example.com"


@pytest.mark.parametrize(
    "host", ["127.0.0.1.example.com", "localhost.example.com", "10.0.0.1", "169.254.169.254", "128.0.0.1", "[::2]"]
)
def test_what_only_looks_like_this_machine_is_not(host: str) -> None:
    assert "https://" in complaint_of({"MALIPO_MPESA_BASE_URL": f"http://{host}:8081/x"})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "localhost", "LOCALHOST", "[::1]"])
def test_the_simulator_on_this_machine_is_reached_without_tls(host: str) -> None:
    assert read({"MALIPO_MPESA_BASE_URL": f"http://{host}:8081/x"}).mpesa_base_url is not None


def test_somebody_who_knows_may_reach_a_network_without_tls() -> None:
    where = "http://10.20.0.5:8080/push"
    settings = read({"MALIPO_TIGO_PESA_PUSH_URL": where, "MALIPO_ALLOW_HTTP_NETWORKS": "true"})
    assert settings.tigo_pesa_push_url == where
    assert len(ADDRESSES) == 10


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("host", ["openapi.m-pesa.com", "10.20.0.5", "tigo"])  # a network in a VPN is a real one
def test_where_networks_are_said_to_be_simulated_none_is_elsewhere(name: str, host: str) -> None:
    sentence = complaint_of({variable(name): f"https://{host}/x", "MALIPO_SIMULATED": "true"})
    assert sentence.startswith(f"{variable(name)} is not on this machine")
    assert "MALIPO_SIMULATED" in sentence


def test_a_staging_service_on_simulated_networks_may_be_reached_from_elsewhere() -> None:
    settings = read({"MALIPO_PUBLIC_URL": "https://staging.example.com/", "MALIPO_SIMULATED": "true"})
    assert settings.public_url == "https://staging.example.com"
    assert read({"MALIPO_PUBLIC_URL": "http://127.0.0.1:8080"}).public_url == "http://127.0.0.1:8080"
    assert "must begin with https://" in complaint_of({"MALIPO_PUBLIC_URL": "http://pay.example.com"})


def test_where_networks_are_said_to_be_simulated_the_simulator_is_connected() -> None:
    settings = read({"MALIPO_MPESA_BASE_URL": "http://127.0.0.1:8081/mpesa", "MALIPO_SIMULATED": "true"})
    assert (settings.simulated, settings.mpesa_base_url) == (True, "http://127.0.0.1:8081/mpesa")
