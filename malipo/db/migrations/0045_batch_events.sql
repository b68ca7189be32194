-- Serves: 0022
-- Events of batches. They have places in the feed as all events, and a table of their own: an older process stops at a row of
-- `events` whose name or body it does not know, and would tell nobody anything any more. It passes over these.
CREATE TABLE batch_events (
    merchant_id text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    batch_id    text COLLATE "C" NOT NULL,
    event       text NOT NULL, -- batch.completed
    body        text NOT NULL,
    created_at  timestamptz NOT NULL,
    feed_number bigint CHECK (feed_number > 0), -- its place in its merchant's feed, given as to `events`, after its payouts'
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT batch_events_tell_once UNIQUE (merchant_id, batch_id, event)
);
COMMENT ON TABLE batch_events IS 'What became of a batch, with the body that every receiver gets. Part of the feed of events.';
CREATE INDEX batch_events_unnumbered ON batch_events (created_at) WHERE feed_number IS NULL;
CREATE UNIQUE INDEX batch_events_feed ON batch_events (merchant_id, feed_number) WHERE feed_number IS NOT NULL;
