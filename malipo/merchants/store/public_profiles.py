"""What customers see of merchants. A merchant without a row shows the name of its account."""

from datetime import datetime

from malipo.db import Conn, Row, Tx
from malipo.merchants.public_profile import Contact, Logo, PublicProfile

_SELECT = """
    SELECT m.name AS registered_name, p.name, p.phone, p.whatsapp, p.email, p.tin, p.logo_fingerprint, p.logo_width,
        p.logo_height
    FROM merchants m LEFT JOIN public_profiles p ON p.merchant_id = m.id WHERE m.id = $1
"""


async def find(connection: Conn, merchant_id: str) -> PublicProfile:
    return _profile(await connection.fetchrow(_SELECT, merchant_id))


async def lock(tx: Tx, merchant_id: str) -> PublicProfile:
    """Lock first, then read: there may be no row yet."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR NO KEY UPDATE", merchant_id)
    return await find(tx, merchant_id)


async def save(tx: Tx, merchant_id: str, profile: PublicProfile, *, now: datetime) -> None:
    """Everything but the logo."""
    await tx.execute(
        """
        INSERT INTO public_profiles (merchant_id, name, phone, whatsapp, email, tin, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (merchant_id) DO UPDATE
        SET name = $2, phone = $3, whatsapp = $4, email = $5, tin = $6, changed_at = $7
        """,
        merchant_id,
        profile.name,
        profile.contact.phone,
        profile.contact.whatsapp,
        profile.contact.email,
        profile.tin,
        now,
    )


async def save_logo(tx: Tx, merchant_id: str, logo: Logo | None, content: bytes | None, *, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO public_profiles (merchant_id, logo, logo_fingerprint, logo_width, logo_height, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (merchant_id) DO UPDATE
        SET logo = $2, logo_fingerprint = $3, logo_width = $4, logo_height = $5, changed_at = $6
        """,
        merchant_id,
        content,
        logo.fingerprint if logo else None,
        logo.width if logo else None,
        logo.height if logo else None,
        now,
    )


async def find_logo(connection: Conn, fingerprint: str) -> bytes | None:
    found = await connection.fetchval(
        "SELECT logo FROM public_profiles WHERE logo_fingerprint = $1 AND logo IS NOT NULL LIMIT 1", fingerprint
    )
    return None if found is None else bytes(found)


def _profile(row: Row | None) -> PublicProfile:
    assert row is not None, "the merchant was found before"
    fingerprint = row["logo_fingerprint"]
    return PublicProfile(
        registered_name=row["registered_name"],
        name=row["name"],
        contact=Contact(row["phone"], row["whatsapp"], row["email"]),
        tin=row["tin"],
        logo=None if fingerprint is None else Logo(fingerprint, row["logo_width"], row["logo_height"]),
    )
