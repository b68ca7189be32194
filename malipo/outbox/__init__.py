"""The outbox: events are written in the commit that makes them true, and delivered afterwards."""
