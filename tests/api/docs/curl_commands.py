"""Parses the curl commands of the documentation into the requests that they send."""

import argparse
import json
import shlex
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class CurlRequest(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: dict[str, Any] | None


def of_command(command: str) -> CurlRequest:
    words = shlex.split(command.replace("\\\n", " "))
    options = argparse.ArgumentParser()
    options.add_argument("url")
    options.add_argument("-X", dest="method")
    options.add_argument("-H", dest="headers", action="append", default=[])
    options.add_argument("-d", dest="body")
    asked = options.parse_args(words[1:])
    pairs = [line.split(": ", 1) for line in asked.headers]
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), f"a header stands there twice: {command}"
    at = urlsplit(asked.url.replace("$MALIPO_URL", "https://pay.example.com"))
    query = {name: values[0] for name, values in parse_qs(at.query).items()}
    method = asked.method or ("POST" if asked.body else "GET")
    return CurlRequest(method, at.path, query, headers, json.loads(asked.body) if asked.body else None)
