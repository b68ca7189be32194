"""How we speak TLS to others: receivers of webhooks, and networks."""

from functools import cache
from ssl import SSLContext, TLSVersion, create_default_context


@cache
def client_context() -> SSLContext:
    """The machine's authorities, and nothing older than TLS 1.2, whatever the machine itself would still speak."""
    context = create_default_context()
    context.minimum_version = TLSVersion.TLSv1_2
    context.set_alpn_protocols(("http/1.1",))
    return context
