"""pg_hba.conf and TLS of docs/operating/database-roles.md: each role gets in as the page says, and in no other way.

The hosts of the page are two addresses of this machine: 127.0.0.1 for those that run malipo, ::1 for that of the backups.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from malipo import clock
from tests.cli.database_roles import HBA, RIGHTS, ROLES
from tests.conftest import named
from tests.journeys.operator_commands import malipo
from tests.journeys.postgres_cluster import Cluster, _own, a_cluster

pytestmark = pytest.mark.slow

MALIPO_HOST, BACKUP_HOST = "127.0.0.1", "[::1]"
PASSWORD = "a-password-of-the-test"


def _certificate(file: Path) -> None:
    """A certificate for both addresses that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "db.internal")])
    addresses = [x509.IPAddress(ip_address(each)) for each in ("127.0.0.1", "::1")]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(clock.now() - timedelta(days=1))
        .not_valid_after(clock.now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    file.with_suffix(".key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    for each in (file, file.with_suffix(".key")):
        each.chmod(0o600)
        _own(each)


@dataclass(frozen=True)
class Server:
    cluster: Cluster
    ca: Path
    other_ca: Path

    def url(
        self,
        role: str,
        *,
        host: str = MALIPO_HOST,
        database: str = "malipo",
        sslmode: str = "verify-full",
        ca: Path | None = None,
    ) -> str:
        address = f"postgresql://malipo_{role}:{PASSWORD}@{host}:{self.cluster.port}/{database}?sslmode={sslmode}"
        return f"{address}&sslrootcert={ca or self.ca}" if sslmode == "verify-full" else address

    def refuses(self, url: str, reason: str) -> None:
        """Asked with psql: asyncpg leaves a transport behind when it is refused over TLS."""
        with pytest.raises(AssertionError, match=reason):
            self.cluster.ask_of(url, "SELECT 1")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Roles by the page's SQL, then the page's pg_hba.conf and TLS."""
    with a_cluster() as cluster:
        superuser = named(cluster.url, "postgres")
        for each in ("DROP DATABASE malipo", *filter(str.strip, ROLES.split(";"))):
            cluster.run("psql", "-X", "-q", "-d", superuser, "-c", each)
        for role in ("owner", "app", "reader", "backup"):
            cluster.ask_of(superuser, f"ALTER ROLE malipo_{role} PASSWORD '{PASSWORD}'")
        cluster.run("psql", "-X", "-q", "-d", cluster.url, "-c", RIGHTS)
        _certificate(cluster.folder / "server.pem")
        _certificate(cluster.folder / "other.pem")
        hba = HBA.replace("10.0.1.0/24", "127.0.0.1/32").replace("10.0.2.5/32", "::1/128")
        (cluster.data / "pg_hba.conf").write_text(hba)
        cluster.configure(
            "listen_addresses = '127.0.0.1,::1'",
            "ssl = on",
            f"ssl_cert_file = '{cluster.folder}/server.pem'",
            f"ssl_key_file = '{cluster.folder}/server.key'",
            "ssl_min_protocol_version = 'TLSv1.3'",
        )
        cluster.stop()
        cluster.start()
        yield Server(cluster, cluster.folder / "server.pem", cluster.folder / "other.pem")


@pytest.mark.parametrize(
    ("role", "host"),
    [("owner", MALIPO_HOST), ("app", MALIPO_HOST), ("reader", MALIPO_HOST), ("backup", BACKUP_HOST)],
)
async def test_a_role_gets_in_from_its_host_over_tls(server: Server, role: str, host: str) -> None:
    connection = await asyncpg.connect(server.url(role, host=host))
    try:
        query = (
            "SELECT usename, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE pid = pg_backend_pid()"
        )
        assert [tuple(row) for row in await connection.fetch(query)] == [(f"malipo_{role}", "TLSv1.3")]
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("role", "how"),
    [
        ("owner", {"sslmode": "disable"}),
        ("app", {"sslmode": "disable"}),
        ("reader", {"sslmode": "disable"}),
        ("backup", {"sslmode": "disable", "host": BACKUP_HOST}),
        ("owner", {"host": BACKUP_HOST}),
        ("app", {"host": BACKUP_HOST}),
        ("reader", {"host": BACKUP_HOST}),
        ("backup", {}),
        ("app", {"database": "postgres"}),
        ("backup", {"database": "postgres", "host": BACKUP_HOST}),
    ],
    ids=str,
)
def test_a_role_gets_in_in_no_other_way(server: Server, role: str, how: dict[str, Any]) -> None:
    server.refuses(server.url(role, **how), "pg_hba")


def test_the_superuser_does_not_get_in_over_the_network(server: Server) -> None:
    server.refuses(server.url("app").replace("malipo_app", "malipo"), "pg_hba")


def test_a_wrong_password_and_a_server_that_nobody_knows_are_refused(server: Server) -> None:
    server.refuses(server.url("app").replace(PASSWORD, "another-one"), "password authentication failed")
    server.refuses(server.url("app", ca=server.other_ca), "certificate verify failed")
    server.refuses(server.url("app", host="localhost"), 'does not match host name "localhost"')


def test_only_the_backup_replicates(server: Server) -> None:
    def identify(role: str, host: str) -> str:
        address = f"{server.url(role, host=host)}&replication=true"
        return server.cluster.run("psql", "-X", "-A", "-t", "-d", address, "-c", "IDENTIFY_SYSTEM")

    assert identify("backup", BACKUP_HOST)
    for role, host in (("backup", MALIPO_HOST), ("app", MALIPO_HOST), ("owner", MALIPO_HOST)):
        with pytest.raises(AssertionError, match="pg_hba"):
            identify(role, host)


async def test_malipo_migrates_works_and_reads_over_tls(server: Server) -> None:
    for role, command in (
        ("owner", ("migrate",)),
        ("app", ("merchant", "create", "Duka")),
        ("reader", ("ledger", "check")),
    ):
        said = await malipo(*command, database_url=server.url(role))
        assert said.code == 0, said.err
