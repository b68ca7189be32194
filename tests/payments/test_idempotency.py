import pytest

from malipo.payments.idempotency import problem_with, request_hash


@pytest.mark.parametrize("key", ["a", "!", "~", "0f8fad5b-d9cb-469f-a165-70867728950e", "x" * 255])
def test_a_key_is_1_to_255_visible_characters(key: str) -> None:
    assert problem_with(key) is None


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", " a", "a\t", "é", "a\x00", "\x7f"])
def test_anything_else_is_refused_in_words(key: str) -> None:
    assert "1 to 255 visible ASCII" in (problem_with(key) or "")


def test_the_order_of_fields_does_not_matter_and_values_do() -> None:
    one = request_hash({"amount": 1000, "metadata": {"a": 1, "b": 2}})
    assert one == request_hash({"metadata": {"b": 2, "a": 1}, "amount": 1000})
    assert one != request_hash({"amount": 1001, "metadata": {"a": 1, "b": 2}})
    assert one != request_hash({"amount": "1000", "metadata": {"a": 1, "b": 2}})
    assert one != request_hash({"amount": 1000, "metadata": {"a": 1, "b": True}})
