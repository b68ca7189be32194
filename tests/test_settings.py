import ipaddress
from datetime import date
from pathlib import Path

import pytest

from malipo.settings import Settings
from malipo.settings.environment import BadSettings, read


def test_nothing_set_gives_the_defaults_of_the_specification() -> None:
    settings = read({"PATH": "/bin"})
    assert settings == Settings()
    assert (settings.port, settings.data_dir, settings.simulator_port) == (8080, Path("var"), 8081)
    assert (settings.rate_limit_create, settings.rate_limit_list, settings.rate_limit_other) == (100, 300, 200)
    assert settings.webhook_retry_seconds == (30, 300, 1800, 7200, 43200)
    assert settings.poll_seconds == (15, 30, 60, 120, 300, 900, 3600)
    assert settings.webhook_timeout_seconds == 10
    assert settings.webhook_allow_private is False


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("on", True), ("1", True), ("False", False), ("OFF", False), ("0", False)]
)
def test_booleans_have_three_spellings(text: str, value: bool) -> None:
    assert read({"MALIPO_WEBHOOK_ALLOW_PRIVATE": text}).webhook_allow_private is value


def test_proxies_are_addresses_and_networks() -> None:
    assert read({"MALIPO_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8"}).trusted_proxies == (
        ipaddress.ip_network("127.0.0.1"),
        ipaddress.ip_network("10.0.0.0/8"),
    )


def test_what_a_developer_exports_for_requests_is_no_mistake() -> None:
    """The README lets them export both, and then type other commands of malipo in the same terminal."""
    exported = {"MALIPO_URL": "http://127.0.0.1:8080", "MALIPO_API_KEY": "mlp_live_1"}
    assert read(exported) == read({})


def test_holidays_of_banks_are_days() -> None:
    read_days = read({"MALIPO_BANK_HOLIDAYS": "2027-01-15, 2026-10-28,2027-01-15"}).bank_holidays
    assert read_days == (date(2026, 10, 28), date(2027, 1, 15))
    assert read({"MALIPO_BANK_HOLIDAYS": ""}).bank_holidays == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MALIPO_PORT", "0"),
        ("MALIPO_PORT", "65536"),
        ("MALIPO_PORT", "80a"),
        ("MALIPO_PORT", ""),
        ("MALIPO_DATA_DIR", ""),
        ("MALIPO_RATE_LIMIT_CREATE", "-1"),
        ("MALIPO_WEBHOOK_RETRY_SECONDS", "30,x"),
        ("MALIPO_WEBHOOK_RETRY_SECONDS", ""),
        ("MALIPO_WEBHOOK_ALLOW_PRIVATE", "yes"),
        ("MALIPO_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("MALIPO_REFERENCE_PREFIX", "mlp"),
        ("MALIPO_KEY_PREFIX", "m_p"),
        ("MALIPO_LOG_LEVEL", "loud"),
        ("MALIPO_BANK_HOLIDAYS", "28.10.2026"),
        ("MALIPO_BANK_HOLIDAYS", "2026-10-28;2026-10-29"),
        ("MALIPO_BANK_HOLIDAYS", "2026-02-29"),
        ("MALIPO_PROT", "8080"),
    ],
)
def test_a_bad_setting_stops_the_start_with_a_sentence_that_names_it(name: str, value: str) -> None:
    with pytest.raises(BadSettings) as caught:
        read({name: value})
    assert len(caught.value.sentences) == 1
    assert name in caught.value.sentences[0]


def test_every_mistake_is_reported_at_once() -> None:
    with pytest.raises(BadSettings) as caught:
        read({"MALIPO_PORT": "x", "MALIPO_HOTS": "y", "MALIPO_LOG_LEVEL": "z"})
    assert len(caught.value.sentences) == 3


def test_a_secret_is_not_repeated_in_the_complaint() -> None:
    with pytest.raises(BadSettings) as caught:
        read({"MALIPO_DATABASE_URL": "mysql://malipo:hunter2@db/malipo"})
    assert "hunter2" not in str(caught.value)
