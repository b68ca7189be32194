-- Serves: 0022
-- Refunds: payouts that give a collection back. Older processes make none; they send and end them like any payout.

-- A refund of a collection and its place among them, written in the commit that creates its payout, and never changed. What
-- became of it is in the payout and its correction, and nowhere else. Two requests that did not see each other would take
-- the same place, and one of them fails.
CREATE TABLE refunds (
    merchant_id   text COLLATE "C" NOT NULL,
    collection_id text COLLATE "C" NOT NULL,
    ordinal       smallint NOT NULL CHECK (ordinal > 0), -- which refund of this collection; of its event too
    refund_id     text COLLATE "C" NOT NULL, -- the payout
    PRIMARY KEY (merchant_id, collection_id, ordinal),
    CONSTRAINT refunds_give_back_one_collection UNIQUE (merchant_id, refund_id)
);
COMMENT ON TABLE refunds IS 'A refund of a collection, and its place among the refunds of it.';

-- A collection is told once of each refund, so payment.refunded repeats too.
ALTER TABLE events DROP CONSTRAINT events_only_corrections_repeat;
ALTER TABLE events ADD CONSTRAINT events_only_corrections_repeat
    CHECK (ordinal = 1 OR event LIKE '%.corrected' OR event = 'payment.refunded') NOT VALID;
