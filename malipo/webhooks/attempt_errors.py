"""Why an attempt failed, in words that help the receiver's developer to fix it."""

import os
import re

import aiohttp

from malipo import log
from malipo.webhooks.connections import MOST_RECEIVED, PostExchange

NOT_HTTP = "the answer is not valid HTTP, or its headers are too long"


def in_words(error: BaseException, exchange: PostExchange) -> str:
    received = exchange.protocol.received if exchange.protocol is not None else 0
    match error:
        case _ if received > MOST_RECEIVED:
            return NOT_HTTP
        case aiohttp.ClientConnectorDNSError():
            return error.os_error.strerror or "the name does not resolve"
        case aiohttp.ClientConnectorCertificateError():
            return (
                f"the certificate is not trusted: {getattr(error.certificate_error, 'verify_message', 'it is invalid')}"
            )
        case aiohttp.ClientSSLError():
            reason = getattr(error.os_error, "reason", None) or "the handshake failed"
            return f"no TLS connection: {reason.replace('_', ' ').lower()}"
        case aiohttp.ServerDisconnectedError():
            return "the answer broke off" if received else "the connection was closed without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer broke off"
        case aiohttp.ClientResponseError():
            return NOT_HTTP
        case aiohttp.ClientOSError():
            return _faults(getattr(error, "os_error", error)) or exchange.refusal or "the connection broke"
    log.error("webhook.unforeseen", error)
    return f"the request could not be made: {type(error).__name__}"


def _faults(error: OSError) -> str:
    """The error messages of the operating system, one for each address that was tried."""
    numbers = re.findall(r"\[Errno (\d+)\]", str(error))
    return ", ".join(dict.fromkeys(os.strerror(int(number)).lower() for number in numbers))
