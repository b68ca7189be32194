-- Large top-ups and settlements take two operators: one proposes, which moves nothing, and another approves.
CREATE TABLE booking_proposals (
    id          text COLLATE "C" PRIMARY KEY, -- the booking gets the same one, so it cannot be made twice
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    kind        text NOT NULL CHECK (kind IN ('top_up', 'settlement')),
    reference   text COLLATE "C" NOT NULL,
    amount      bigint NOT NULL CHECK (amount > 0),
    proposed_by text NOT NULL,
    proposed_at timestamptz NOT NULL,
    ended_by    text,
    ended_at    timestamptz,
    is_approved boolean,
    CONSTRAINT booking_proposals_end_whole CHECK ((ended_at IS NULL) = (ended_by IS NULL)
                                              AND (ended_at IS NULL) = (is_approved IS NULL)),
    CONSTRAINT booking_proposals_take_two CHECK (NOT (is_approved AND ended_by = proposed_by))
);
-- One open proposal for a paper of the bank's. A rejected one may be proposed again.
CREATE UNIQUE INDEX booking_proposals_open ON booking_proposals (kind, reference) WHERE ended_at IS NULL;
CREATE INDEX booking_proposals_by_reference ON booking_proposals (reference);
