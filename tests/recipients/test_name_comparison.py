"""The name that was typed and the one on file: the same person, perhaps, or somebody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.recipients.name_comparison import Comparison, compare

MATCH = [
    ("Asha Mushi", "ASHA MUSHI"),
    ("mushi asha", "ASHA MUSHI"),
    ("Asha Mushi", "ASHA SAIDI MUSHI"),
    ("Asha Saidi Mushi", "MUSHI ASHA"),
    ("  Asha\tMushi ", "ASHA  MUSHI"),
    ("Asha-Mushi", "ASHA MUSHI"),
    ("Ng'ombe Juma", "NGOMBE JUMA"),
    ("Ng\u2019ombe Juma", "NG'OMBE JUMA"),
    ("Zoë Müller", "ZOE MULLER"),
    ("Mr. Juma Kimaro", "JUMA KIMARO"),
    ("Bi. Asha Mushi", "ASHA SAIDI MUSHI"),
    ("Juma", "JUMA"),
    ("Juma Juma", "JUMA JUMA"),
]
CLOSE = [
    ("Asha", "ASHA MUSHI"),
    ("A. Mushi", "ASHA SAIDI MUSHI"),
    ("Asha M", "ASHA MUSHI"),
    ("Asha S Mushi", "ASHA SAIDI MUSHI"),
    ("Mohamed Ally", "MOHAMMED ALLY"),
    ("Mohamed", "MOHAMMED"),
    ("Emmanuel Temu", "EMANUEL TEMU"),
    ("Zainabu Shayo", "ZAINAUB SHAYO"),
    ("Asha Mushi", "ASHA MU***"),
    ("Asha Mushi", "A*** MUSHI"),
]
DIFFERS = [
    ("Juma Mushi", "ASHA MUSHI"),
    ("Asha Mushi", "ASHA KIMARO"),
    ("Asha Mushi", "ASIA MUSHI"),
    ("Juma", "ASHA MUSHI"),
    ("A", "ASHA MUSHI"),
    ("A M", "ASHA MUSHI"),
    ("Juma Juma", "JUMA KIMARO"),
    ("Asha Saidi Mushi", "ASHA KIMARO"),
    ("Duka la Juma", "ASHA MUSHI"),
    ("Asha Mushi", "J*** MUSHI"),
    ("Asha Mushi", "*** KIMARO"),
]
UNKNOWN = [("", "ASHA"), ("Asha", ""), ("Asha", None), ("", None), ("...", "ASHA"), ("Mr", "ASHA"), ("Asha", "*** ***")]


@pytest.mark.parametrize(
    ("typed", "found", "result"),
    [
        (typed, found, result)
        for result, pairs in (
            (Comparison.MATCH, MATCH),
            (Comparison.CLOSE, CLOSE),
            (Comparison.DIFFERS, DIFFERS),
            (Comparison.UNKNOWN, UNKNOWN),
        )
        for typed, found in pairs
    ],
)
def test_names_are_compared_as_words(typed: str, found: str | None, result: Comparison) -> None:
    assert compare(typed, found) is result


WORDS = st.lists(
    st.sampled_from(["asha", "juma", "mushi", "mohamed", "mohammed", "a", "m", "j***", "mr", "é"]), max_size=4
)


@given(WORDS, WORDS)
def test_it_does_not_matter_which_is_which_nor_in_which_order(one: list[str], other: list[str]) -> None:
    said = compare(" ".join(one), " ".join(other))
    assert compare(" ".join(other), " ".join(one)) is said
    if said in (Comparison.MATCH, Comparison.UNKNOWN):
        assert compare(" ".join(reversed(one)), " ".join(other).upper()) is said


@given(st.text(max_size=120), st.text(max_size=120))
def test_no_text_is_too_odd(typed: str, found: str) -> None:
    assert compare(typed, found) in Comparison
    assert compare(typed, typed) in (Comparison.MATCH, Comparison.UNKNOWN)
