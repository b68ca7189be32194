-- Serves: 0022
-- Payment links. Older processes know none of them. What they settle of a link's payment has no `link` in its event; the
-- link counts it all the same, because its attempts are compared with the payments.

-- A link: what a merchant wants to be paid, by whoever opens it. It is no payment: each attempt of a customer is one.
CREATE TABLE links (
    merchant_id     text COLLATE "C" NOT NULL REFERENCES merchants,
    id              text COLLATE "C" NOT NULL,
    code            text COLLATE "C" NOT NULL, -- in its address; cannot be guessed, and does not follow from the id
    amount          bigint CHECK (amount > 0), -- null: the customer types it
    min_amount      bigint CHECK (min_amount > 0),
    max_amount      bigint CHECK (max_amount >= coalesce(min_amount, 1)),
    description     text NOT NULL,
    order_reference text,
    is_reusable     boolean NOT NULL, -- else it is paid once
    max_payments    integer CHECK (max_payments > 0), -- of a reusable one; null: any number
    expires_at      timestamptz,
    return_url      text,
    idempotency_key text COLLATE "C",
    request_hash    bytea NOT NULL, -- another request under the same key is refused
    created_at      timestamptz NOT NULL,
    created_by      text NOT NULL, -- the id of an API key, or the email of a person
    cancelled_at    timestamptz,
    cancelled_by    text, -- as created_by
    paid_count      integer NOT NULL DEFAULT 0, -- counted attempts that were paid, without late ones
    paid_amount     bigint NOT NULL DEFAULT 0,
    paid_at         timestamptz, -- when it was paid as often as it may be. It stays, whatever networks report later
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT links_code_is_unique UNIQUE (code),
    CONSTRAINT links_idempotency_key_is_unique UNIQUE (merchant_id, idempotency_key),
    CHECK (amount IS NULL OR (min_amount IS NULL AND max_amount IS NULL)),
    CHECK (is_reusable OR max_payments IS NULL)
);
COMMENT ON TABLE links IS 'A payment link: what whoever opens it can pay.';

-- An attempt of a customer to pay a link. What became of it is in its payment, which is written in the same commit.
CREATE TABLE link_attempts (
    merchant_id    text COLLATE "C" NOT NULL,
    link_id        text COLLATE "C" NOT NULL,
    phone          text NOT NULL,
    ordinal        integer NOT NULL CHECK (ordinal > 0), -- its place among those of this number at this link
    transaction_id text COLLATE "C" NOT NULL,
    press_id       text, -- drawn by the page that was pressed: the same page pressed again is the same attempt
    address        text, -- of the client
    pressed_at     timestamptz NOT NULL DEFAULT now(),
    is_counted     boolean NOT NULL DEFAULT false, -- in its link. Not while it is open, nor once its payment was corrected
    is_paid        boolean NOT NULL DEFAULT false, -- as it was counted
    late           text CHECK (late IN ('already_paid', 'expired', 'cancelled')), -- why its money came too late
    PRIMARY KEY (merchant_id, link_id, phone, ordinal),
    CONSTRAINT link_attempts_of_one_payment UNIQUE (merchant_id, transaction_id),
    FOREIGN KEY (merchant_id, link_id) REFERENCES links
);
COMMENT ON TABLE link_attempts IS 'An attempt of a customer to pay a link: an ordinary collection.';
CREATE INDEX link_attempts_uncounted ON link_attempts (merchant_id, link_id) WHERE NOT is_counted;
CREATE INDEX link_attempts_late ON link_attempts (merchant_id, link_id) WHERE late IS NOT NULL;
CREATE INDEX link_attempts_of_phone ON link_attempts (phone, pressed_at);

ALTER TABLE transactions ADD COLUMN link_id text COLLATE "C"; -- of a collection: the link that the customer paid it by

-- Events of links, beside `events` as those of batches are: older processes pass over them.
CREATE TABLE link_events (
    merchant_id    text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    link_id        text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL, -- the payment that it is about
    event          text NOT NULL, -- link.paid, link.late
    body           text NOT NULL,
    created_at     timestamptz NOT NULL,
    feed_number    bigint CHECK (feed_number > 0), -- its place in its merchant's feed, given as to `events`
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT link_events_tell_once UNIQUE (merchant_id, link_id, event, transaction_id)
);
COMMENT ON TABLE link_events IS 'What became of a link, with the body that every receiver gets. Part of the feed of events.';
CREATE INDEX link_events_unnumbered ON link_events (created_at) WHERE feed_number IS NULL;
CREATE UNIQUE INDEX link_events_feed ON link_events (merchant_id, feed_number) WHERE feed_number IS NOT NULL;
