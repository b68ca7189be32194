"""Which passwords will do, and why others will not."""

import pytest

from malipo import randomness
from malipo.accounts.password_strength import LEAST_SCORE, MOST, Weakness, weakness_of

WHO = ("asha.komba@example.com", "Asha Komba")


@pytest.mark.parametrize(
    ("password", "weakness"),
    [
        ("mvua ya vuli 12", None),
        ("korosho saba mezani", None),
        ("x7#Qm-p2!Lw", None),
        ("korosho saba mezani" * 10, None),
        ("short", Weakness.LENGTH),
        ("korosho " * 26, Weakness.LENGTH),
        ("password123", Weakness.COMMON),
        ("qwertyuiop12", Weakness.COMMON),
        ("P@ssw0rd123", Weakness.COMMON),
        ("asha komba 12", Weakness.NAMES),
        ("asha.komba@example.com", Weakness.NAMES),
        ("malipo2026!", Weakness.NAMES),
        ("aaaaaaaaaaaa", Weakness.REPEATED),
        ("abcdefghijkl", Weakness.SEQUENCE),
        ("1990-05-12 12", Weakness.DATE),
    ],
)
def test_a_password_is_strong_or_weak_for_a_reason(password: str, weakness: Weakness | None) -> None:
    found = weakness_of(password, *WHO)
    assert (None if found is None else found.reason) == weakness


# By kinds. The first of each were tried in an attack, and most of them did.
GUESSED = {
    "phone numbers": ["0754000100", "+255754000100", "255754000100", "0754-000-100", "0754000100!", "Juma0754000100"],
    "other numbers": ["9201983746", "0150482913700", "19850412141230000129"],
    "a name and a year": ["Juma@2026!", "Juma@1990!", "Juma123456", "JumaMushi2026", "juma.mushi1", "Mushi.Juma#1"],
    "the service": ["Malipo@2026!", "Malipo2026!", "malipo12345", "M@lip0-2026"],
    "the business": ["DukaLaNeema1", "duka.la.neema", "Duka@2026!!"],
    "places": ["Tanzania2026", "Tanzania@123", "tanzania1961", "DarEsSalaam1", "dar-es-salaam!"],
    "clubs and networks": ["Simba@2026!", "yangaafrica", "Vodacom2026!", "mpesa12345", "TigoPesa@1"],
    "sayings": ["hakunamatata", "Hakuna.Matata1", "hakuna matata", "mungunimwema", "MunguNiMwema1", "hapakazitu1"],
    "love and greetings": ["nakupenda123", "karibusana", "asantesana1", "mamanababa"],
    "rows and repetitions": [
        "aaaabbbbccccdddd",
        "abcabcabcabc",
        "ababababab",
        "qwerty123456",
        "1234567890",
        "11223344556677",
    ],
    "what many use": ["Password@2026", "P@ssw0rd2026", "Nenosiri@1"],
    "dates": ["2026-11-17", "17/11/2026"],
}
GOOD = [
    "ndizi kobe mlima sanduku",
    "farasi bahari kalamu nyota",
    "wembe uzi tausi pilau",
    "kijiko-paka-dirisha-47",
    "jua la asubuhi kisima",
    "maji ya kunde 7",
    "ndizi mbivu sita 6",
    "purple teacup marathon seven",
    "xK9vTq2LmZ",
    "tR7#pLq9Wz",
    "7f3k9x2m1q8z",
]


@pytest.mark.parametrize("password", [each for some in GUESSED.values() for each in some])
def test_what_is_guessed_first_is_refused_with_a_score_and_a_reason(password: str) -> None:
    found = weakness_of(password, "juma.mushi@gmail.com", "Juma Mushi", "Duka la Neema")
    assert found is not None
    assert found.score < LEAST_SCORE
    assert f"strength {found.score} of 4; it needs 3" in found.sentence


def test_the_list_has_at_least_as_many_as_were_tried() -> None:
    assert sum(map(len, GUESSED.values())) >= 38


@pytest.mark.parametrize("password", GOOD)
def test_several_words_that_do_not_belong_together_will_do_and_so_will_what_is_random(password: str) -> None:
    assert weakness_of(password, "juma.mushi@gmail.com", "Juma Mushi", "Duka la Neema") is None


def test_what_a_program_has_made_at_random_will_do() -> None:
    for _ in range(100):
        assert weakness_of(randomness.token_urlsafe(12), *WHO) is None


def test_symbols_that_can_be_read_as_letters_in_many_ways_do_not_keep_us_busy() -> None:
    """Whole, this takes minutes: then this test would be stopped."""
    assert weakness_of(("4@8({[</369&#!1/|0$5+7%2" * 9)[:MOST], *WHO) is None
