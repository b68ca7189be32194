"""Where the service is, and what every request to it carries."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from malipo_client.request import Request


class ServiceAddress:
    """The address and the headers. The API key is in no repr."""

    def __init__(self, api_key: str | None, base_url: str | None, *, language: str | None) -> None:
        from malipo_client import __version__

        key = api_key or os.environ.get("MALIPO_API_KEY", "")
        if not key:
            raise ValueError("An API key is needed: set MALIPO_API_KEY, or give api_key (--api-key).")
        # No default: money would be asked for from whatever happens to listen there.
        self.url = (base_url or os.environ.get("MALIPO_URL", "")).rstrip("/")
        if not self.url:
            raise ValueError("The address of the service is needed: set MALIPO_URL, or give base_url (--base-url).")
        parts = urlsplit(self.url)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.query
            or parts.fragment
            or parts.username
        ):
            raise ValueError(f"base_url must be like https://pay.example.com, and not {self.url!r}.")
        self.is_tls = parts.scheme == "https"
        self.host = parts.hostname
        self.port = parts.port or (443 if self.is_tls else 80)
        self._prefix = parts.path
        self._headers = {
            "x-api-key": key,
            "Accept": "application/json, text/csv",
            "User-Agent": f"malipo-client-python/{__version__}",
        }
        if language is not None:
            self._headers["Accept-Language"] = language
        for value in self._headers.values():
            if not value.isascii() or not value.isprintable() or value != value.strip():
                raise ValueError("The API key, or the language, has characters that no header takes.")

    def target_of(self, request: Request[Any]) -> str:
        return self._prefix + request.target

    def headers_of(self, request: Request[Any]) -> dict[str, str]:
        headers = dict(self._headers)
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.idempotency_key is not None:
            headers["Idempotency-Key"] = request.idempotency_key
        return headers
