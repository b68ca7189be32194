"""The host names that the simulator's own API and pages answer to. Pure.

A web site whose name leads to 127.0.0.1 (DNS rebinding) could otherwise read the credentials in its visitor's browser.
The networks' paths answer to every name: they give nothing without credentials.
"""

from collections.abc import Iterable
from ipaddress import ip_address


def name_in(host: bytes) -> str:
    """The name in a Host header, without the port and without the brackets of an IPv6 address."""
    text = host.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def is_own(name: str, *, configured: Iterable[str], local_address: str | None) -> bool:
    """Whether a name is a loopback name or address, a configured one, or the address that the connection came to."""
    if name in configured or (local_address is not None and name == local_address):
        return True
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
