-- Serves: 0022
-- A merchant may refuse its own programs payments that they could not safely send again. Older processes do not ask for it.
ALTER TABLE merchants ADD COLUMN requires_idempotency_key boolean NOT NULL DEFAULT false;
