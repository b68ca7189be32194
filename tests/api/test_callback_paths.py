"""Callbacks are found without the router, and by no other path or method than with it."""

import pytest

from tests.api.conftest import is_refused
from tests.conftest import Client


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/callbacks/mpesa/not-the-token", 404),
        ("POST", "/callbacks/nowhere/token", 404),
        ("POST", "/callbacks/mpesa", 404),
        ("POST", "/callbacks/mpesa/", 404),
        ("POST", "/callbacks/mpesa/token/more", 404),
        ("POST", "/callbacks/mpesa/token/", 404),
        ("POST", "/callback/mpesa/token", 404),
        ("GET", "/callbacks/mpesa/token", 405),
        ("PUT", "/callbacks/mpesa/token", 405),
    ],
)
async def test_only_posts_to_a_route_with_its_token_are_callbacks(
    api: Client, method: str, path: str, status: int
) -> None:
    code = "not_found" if status == 404 else "method_not_allowed"
    assert is_refused(await api.as_(None)(method, path, {}), status, code)
