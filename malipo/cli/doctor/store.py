"""The SQL of `malipo doctor`, which asks PostgreSQL about itself with a role that may only read."""

from typing import Any

from malipo.db import Conn


async def find_server(connection: Conn) -> dict[str, Any]:
    row = await connection.fetchrow(
        """
        SELECT current_setting('server_version_num')::integer / 10000 AS version,
               coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_tls,
               coalesce(inet_server_addr() = inet_client_addr(), true) AS is_on_this_machine,
               current_setting('transaction_read_only') = 'on' AS is_read_only,
               (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
               EXISTS (SELECT FROM pg_tables WHERE tablename = 'transactions' AND tableowner = current_user)
                   AS owns_tables,
               has_database_privilege(current_database(), 'TEMPORARY') AS may_make_temporary_tables,
               current_setting('archive_mode') AS archive_mode,
               (SELECT last_archived_time FROM pg_stat_archiver) AS last_archived_at,
               (SELECT last_failed_time FROM pg_stat_archiver) AS last_failed_at
        """
    )
    assert row is not None
    return dict(row)


async def find_operators(connection: Conn) -> list[tuple[str, bool]]:
    """The operators who can log in and may approve, and whether they have a second factor."""
    rows = await connection.fetch(
        """
        SELECT name, EXISTS (SELECT FROM second_factors f WHERE f.account_id = o.id) AS has_second_factor
        FROM operators o WHERE password_hash IS NOT NULL AND role = 'manager' ORDER BY name
        """
    )
    return [(row["name"], row["has_second_factor"]) for row in rows]


async def find_data_folder(connection: Conn) -> str | None:
    """None for a role that may not know it."""
    found: str | None = await connection.fetchval("SELECT setting FROM pg_settings WHERE name = 'data_directory'")
    return found
