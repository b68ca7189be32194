"""The samples of the reference, as its pages show them."""

from typing import NamedTuple

from malipo.api import openapi
from malipo.api.docs.reference import Operation, Reference
from malipo.rate_limit.sliding_window import RateClass
from tests.api.docs.curl_commands import CurlRequest, of_command

REFERENCE = Reference(openapi.load(), dict.fromkeys(RateClass, 100))
OPERATIONS = [operation for area in REFERENCE.areas for operation in area.operations]
FOR_KEYS = [operation for operation in OPERATIONS if operation.access == "key"]


class Shown(NamedTuple):
    """One request of a page."""

    operation: Operation
    curl: CurlRequest
    clients: dict[str, str]


SHOWN = [
    Shown(operation, of_command(request.curl), {each.language: each.text for each in request.clients})
    for operation in FOR_KEYS
    for request in operation.requests
]
