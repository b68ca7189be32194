"""SQL of carriers: which connectors have sent payments of a channel, as parts of statements.

Routes are settings. If one was changed in the time that a restore has lost, or shortly before, payments of the channel
may be known to another connector than the one that carries it now.
"""

# A connector counts as a carrier of the lost time if it has sent so shortly before the last sending in the database.
_BEFORE = "interval '2 days'"


def note_carriers_sql(sent: str, connector: str) -> str:
    """A part of a statement: notes the connector of payments that are being sent. `sent` has their channels and
    types."""
    return f"""
        INSERT INTO carriers (channel, type, connector)
        SELECT DISTINCT channel, type, {connector} FROM {sent}
        WHERE NOT EXISTS (
            SELECT FROM carriers k WHERE k.channel = {sent}.channel AND k.type = {sent}.type
               AND k.connector = {connector} AND k.last_at > now() - interval '1 hour')
        ORDER BY 1, 2 ON CONFLICT (channel, type, connector) DO UPDATE SET last_at = now()
    """


def is_carrier_sql(connector: str, dispatch: str) -> str:
    """A condition: whether a connector has carried payments of the kind of this dispatch."""
    return f"EXISTS (SELECT FROM carriers c WHERE c.connector = {connector} AND {_of(dispatch)})"


def carriers_sql(dispatch: str) -> str:
    """An array of the connectors that may have sent the payment before the restore."""
    return f"ARRAY(SELECT c.connector FROM carriers c WHERE {_of(dispatch)} ORDER BY 1)"


def _of(dispatch: str) -> str:
    return f"""
        c.channel = {dispatch}.channel AND c.type = {dispatch}.type AND c.last_at > (
            SELECT max(o.last_at) - {_BEFORE} FROM carriers o JOIN installation i ON o.last_at < i.epoch_began_at)
    """
