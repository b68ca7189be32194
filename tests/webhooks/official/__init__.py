"""Other people's verifiers: the official Standard Webhooks libraries for Python and JavaScript, and openssl.

Each `verify_with_…` returns if the webhook is right and raises Wrong if it is not. Knows nothing of malipo's own signing.
"""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

_HERE = Path(__file__).parent


class Wrong(Exception):  # noqa: N818
    """The verifier does not believe it."""


def verify_with_python(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    try:
        Webhook(secret).verify(body, dict(headers))
    except WebhookVerificationError as error:
        raise Wrong(str(error)) from error


def verify_with_node(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    node = str(_here(shutil.which("node"), "node"))
    _here((_HERE / "node_modules" / ".installed-from").exists(), "standardwebhooks for JavaScript")
    line = {"secret": secret, "headers": dict(headers), "body": base64.b64encode(body).decode()}
    said = _run([node, str(_HERE / "verify.mjs")], json.dumps(line).encode() + b"\n")
    if said != "ok":
        raise Wrong(said)


def verify_with_openssl(secret: str, header_value: str, body: bytes) -> None:
    """As a shell script would: the header is the hex HMAC of the body, and the whole secret is the key."""
    openssl = str(_here(shutil.which("openssl"), "openssl"))
    said = _run([openssl, "dgst", "-sha256", "-hmac", secret], body)
    digest = said.rpartition("= ")[2]
    assert len(digest) == 64, said
    if digest != header_value:
        raise Wrong(f"openssl makes {digest}")


def _run(command: list[str], given: bytes) -> str:
    done = subprocess.run(command, input=given, capture_output=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def _here(found: str | bool | None, name: str) -> str | bool:
    """The test is skipped if it is not here: `scripts/test-needs` has said so loudly."""
    if not found:
        assert not os.environ.get("CI"), "in CI nothing is skipped"
        pytest.skip(f"there is no {name} here")
    return found
