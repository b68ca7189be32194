"""The verifiers that real deliveries are shown to: they believe what is right, and nothing else."""

from collections.abc import Callable

import pytest

from tests.examples.signed_webhooks import NEW, OLD, STRANGE, Headers, event, rotating, signed
from tests.webhooks.official import Wrong, verify_with_node, verify_with_openssl, verify_with_python


@pytest.mark.parametrize("verify", [verify_with_python, verify_with_node])
def test_a_verifier_believes_what_is_right_and_nothing_else(verify: Callable[[str, Headers, bytes], None]) -> None:
    body = event(17)
    headers = signed(body)
    verify(OLD, headers, body)
    for secret in (OLD, NEW):
        verify(secret, rotating(body), body)
    with pytest.raises(Wrong):
        verify(STRANGE, headers, body)
    with pytest.raises(Wrong):
        verify(OLD, headers, body + b" ")
    with pytest.raises(Wrong):
        verify(OLD, headers | {"webhook-id": "evt_other"}, body)


def test_openssl_believes_what_is_right_and_nothing_else() -> None:
    body = event(17)
    header = signed(body)["X-Service-Signature"]
    verify_with_openssl(OLD, header, body)
    with pytest.raises(Wrong):
        verify_with_openssl(NEW, header, body)
    with pytest.raises(Wrong):
        verify_with_openssl(OLD, header, body + b" ")
    with pytest.raises(Wrong):
        verify_with_openssl(OLD, header.upper(), body)
