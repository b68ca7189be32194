"""TLS for outgoing connections: to receivers of webhooks and to networks."""

from functools import cache
from ssl import SSLContext, TLSVersion, create_default_context


@cache
def client_context() -> SSLContext:
    """Trusts the machine's certificate authorities. Requires TLS 1.2, even if the machine's own configuration allows
    less."""
    context = create_default_context()
    context.minimum_version = TLSVersion.TLSv1_2
    context.set_alpn_protocols(("http/1.1",))
    return context
