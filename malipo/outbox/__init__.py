"""The outbox: an event is written in the same commit as the change that it reports, and delivered afterwards."""
