-- Serves: 0022
-- Links that stop a bank account. Older processes make and know none.

-- A link in a notice about a bank account: it stops the account, also for an owner who can no longer log in. Each attempt
-- to send the message makes another, and all of them work until one is used.
CREATE TABLE stop_links (
    hash            bytea PRIMARY KEY, -- SHA-256 of the link: the link itself is not stored
    merchant_id     text COLLATE "C" NOT NULL REFERENCES merchants,
    bank_account_id text COLLATE "C" NOT NULL,
    email           text NOT NULL, -- to which it was sent
    name            text NOT NULL,
    message_id      text COLLATE "C" NOT NULL, -- of `messages`
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    used_at         timestamptz
);
COMMENT ON TABLE stop_links IS 'A single-use link that stops a bank account.';
CREATE INDEX stop_links_of_account ON stop_links (bank_account_id, email);
CREATE INDEX stop_links_expired ON stop_links (expires_at);
