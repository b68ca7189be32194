-- The feed, and the endpoints that it is pushed to.

-- An event's place in its merchant's feed. It is given after the commit that told it, by one numberer at a time: numbers
-- taken inside concurrent transactions would become visible out of order, and a reader would pass over some for ever.
ALTER TABLE events ADD COLUMN number bigint CHECK (number > 0);
CREATE INDEX events_unnumbered ON events (created_at) WHERE number IS NULL;
CREATE UNIQUE INDEX events_feed ON events (merchant_id, number) WHERE number IS NOT NULL;

CREATE TABLE feeds (
    merchant_id   text COLLATE "C" PRIMARY KEY,
    last          bigint NOT NULL DEFAULT 0, -- the latest number given
    pruned        bigint NOT NULL DEFAULT 0, -- the latest number no longer kept
    pruned_before timestamptz, -- events of before this time are no longer kept
    CONSTRAINT feeds_prune_what_was_numbered CHECK (pruned <= last)
) WITH (fillfactor = 50);

CREATE TABLE endpoints (
    id               text COLLATE "C" PRIMARY KEY,
    merchant_id      text COLLATE "C" NOT NULL REFERENCES merchants,
    url              text NOT NULL,
    events           text[] NOT NULL,
    is_active        boolean NOT NULL DEFAULT true,
    secret           bytea NOT NULL, -- sealed
    next_secret      bytea, -- sealed; while the secret is being changed
    rotation_ends_at timestamptz, -- from when on only the next secret counts
    failing_since    timestamptz, -- the first failure since the last success
    switched_off_at  timestamptz,
    switched_off_why text, -- when it was not the merchant who did
    created_at       timestamptz NOT NULL,
    deleted_at       timestamptz,
    CONSTRAINT endpoints_rotate_whole CHECK ((next_secret IS NULL) = (rotation_ends_at IS NULL))
);
CREATE INDEX endpoints_of_merchant ON endpoints (merchant_id, id);

-- One event to one endpoint. Receivers know it by the event's id.
CREATE TABLE deliveries (
    endpoint_id  text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C" NOT NULL,
    merchant_id  text COLLATE "C" NOT NULL,
    event        text NOT NULL,
    body         text, -- of a test only; every other body is the event's
    state        text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'DELIVERED', 'EXHAUSTED')),
    tries        smallint NOT NULL DEFAULT 0, -- since it was made, or last asked for anew
    due_at       timestamptz NOT NULL, -- when it is tried next
    claim        text, -- under which a worker has it
    leased_until timestamptz, -- when that worker may be thought dead
    PRIMARY KEY (endpoint_id, event_id)
) WITH (fillfactor = 70);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at) WHERE state = 'PENDING';
CREATE INDEX deliveries_exhausted ON deliveries (endpoint_id, event_id) WHERE state = 'EXHAUSTED';

-- Every try, and what was answered. Never updated.
CREATE TABLE attempts (
    endpoint_id text COLLATE "C" NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL, -- the receiver sees it as X-Service-Delivery
    at          timestamptz NOT NULL,
    took_ms     integer NOT NULL,
    status      smallint, -- none if there was no whole answer
    headers     json NOT NULL,
    answer      bytea NOT NULL, -- as much of it as we keep
    error       text, -- why there was no answer
    PRIMARY KEY (endpoint_id, event_id, id)
);
