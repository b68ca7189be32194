-- The outbox, the feed that is made of it, and the webhook endpoints that it is pushed to.

-- The outbox: facts to tell, written in the commit that made them true. The body is fixed here, byte for byte.
CREATE TABLE events (
    merchant_id    text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    event          text NOT NULL, -- such as payment.completed
    body           text NOT NULL,
    created_at     timestamptz NOT NULL,
    -- Its place in its merchant's feed. It is given after the commit that told it, by one numberer at a time: numbers taken
    -- inside concurrent transactions would become visible out of order, and a reader would pass over some for ever.
    feed_number    bigint CHECK (feed_number > 0),
    ordinal        smallint NOT NULL DEFAULT 1 CHECK (ordinal > 0), -- a payment can be corrected more than once
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT events_tell_once UNIQUE (merchant_id, transaction_id, event, ordinal),
    CONSTRAINT events_only_corrections_repeat CHECK (ordinal = 1 OR event LIKE '%.corrected')
);
COMMENT ON TABLE events IS 'The outbox: what became true of a payment, with the body that every receiver gets.';
CREATE INDEX events_unnumbered ON events (created_at) WHERE feed_number IS NULL;
CREATE UNIQUE INDEX events_feed ON events (merchant_id, feed_number) WHERE feed_number IS NOT NULL;

-- How far each merchant's feed goes.
CREATE TABLE feeds (
    merchant_id   text COLLATE "C" PRIMARY KEY,
    last_number   bigint NOT NULL DEFAULT 0, -- the latest number given
    pruned_to     bigint NOT NULL DEFAULT 0, -- the latest number no longer kept
    pruned_before timestamptz, -- events of before this time are no longer kept
    CONSTRAINT feeds_prune_what_was_numbered CHECK (pruned_to <= last_number)
) WITH (fillfactor = 50);
COMMENT ON TABLE feeds IS 'Where a merchant''s feed of events ends, and up to where it was pruned.';

-- An address of a merchant's that is told events.
CREATE TABLE webhook_endpoints (
    id               text COLLATE "C" PRIMARY KEY,
    merchant_id      text COLLATE "C" NOT NULL REFERENCES merchants,
    url              text NOT NULL,
    events           text[] NOT NULL, -- which it wants to hear of
    is_active        boolean NOT NULL DEFAULT true,
    secret           bytea NOT NULL, -- encrypted
    next_secret      bytea, -- encrypted; while the secret is being changed
    rotation_ends_at timestamptz, -- from when on only the next secret counts
    failing_since    timestamptz, -- the first failure since the last success
    disabled_at      timestamptz,
    disabled_reason  text, -- when it was not the merchant who did
    created_at       timestamptz NOT NULL,
    deleted_at       timestamptz,
    CONSTRAINT webhook_endpoints_rotate_whole CHECK ((next_secret IS NULL) = (rotation_ends_at IS NULL))
);
COMMENT ON TABLE webhook_endpoints IS 'An address of a merchant''s that events are pushed to.';
CREATE INDEX webhook_endpoints_of_merchant ON webhook_endpoints (merchant_id, id);

-- One event to one endpoint. Receivers know it by the event's id.
CREATE TABLE webhook_deliveries (
    endpoint_id   text COLLATE "C" NOT NULL,
    event_id      text COLLATE "C" NOT NULL,
    merchant_id   text COLLATE "C" NOT NULL,
    event         text NOT NULL,
    body          text, -- of a test only; every other body is the event's
    state         text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'DELIVERED', 'EXHAUSTED')),
    attempt_count smallint NOT NULL DEFAULT 0, -- since it was made, or last asked for anew
    due_at        timestamptz NOT NULL, -- when it is tried next
    claim_id      text, -- under which a worker has it
    leased_until  timestamptz, -- when that worker may be thought dead
    PRIMARY KEY (endpoint_id, event_id)
) WITH (fillfactor = 70);
COMMENT ON TABLE webhook_deliveries IS 'One event to one endpoint, and how far it has come.';
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE state = 'PENDING';
CREATE INDEX webhook_deliveries_exhausted ON webhook_deliveries (endpoint_id, event_id) WHERE state = 'EXHAUSTED';

-- Every attempt of a delivery, and what was answered. Never updated.
CREATE TABLE webhook_attempts (
    endpoint_id      text COLLATE "C" NOT NULL,
    event_id         text COLLATE "C" NOT NULL,
    id               text COLLATE "C" NOT NULL, -- the receiver sees it as X-Service-Delivery
    attempted_at     timestamptz NOT NULL,
    duration_ms      integer NOT NULL,
    http_status      smallint, -- none if there was no whole answer
    response_headers json NOT NULL,
    response_body    bytea NOT NULL, -- as much of it as we keep
    error            text, -- why there was no answer
    PRIMARY KEY (endpoint_id, event_id, id)
);
COMMENT ON TABLE webhook_attempts IS 'One attempt of a delivery, and what the receiver answered. Never updated.';
