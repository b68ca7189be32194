"""Certificates for a test: an authority that the test trusts, and what it, or a stranger, has signed."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def trusted(self) -> ssl.SSLContext:
        """For a client who trusts this authority and no other."""
        return ssl.create_default_context(cadata=self.certificate.public_bytes(Encoding.PEM).decode())

    def server(self, *names: str, days: int = 1) -> ssl.SSLContext:
        """For a server of these names. Of fewer days than none, it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        found = [x509.IPAddress(ip_address(each)) if each[0].isdigit() else x509.DNSName(each) for each in names]
        now = datetime.now(UTC)
        builder = _builder(names[0], self.certificate.subject, key).add_extension(
            x509.SubjectAlternativeName(found), critical=False
        )
        builder = builder.not_valid_before(now - 10 * _DAY).not_valid_after(now + days * _DAY)
        return _context(key, builder.sign(self.key, hashes.SHA256()))

    def itself(self) -> ssl.SSLContext:
        """For a server that nobody but itself has vouched for."""
        return _context(self.key, self.certificate)


@cache
def authority(name: str = "The test's authority") -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    builder = _builder(name, _name(name), key).not_valid_before(now - 10 * _DAY).not_valid_after(now + _DAY)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Authority(key, builder.sign(key, hashes.SHA256()))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer_name=issuer, subject_name=_name(subject), public_key=key.public_key())
    return builder.serial_number(x509.random_serial_number())


def _context(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "server.pem"
        file.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + certificate.public_bytes(Encoding.PEM)
        )
        context.load_cert_chain(file)
    return context
