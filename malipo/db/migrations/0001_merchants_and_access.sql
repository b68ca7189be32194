-- Merchants, their API keys and limits; the people of a merchant, operators, and how both log in; the audit log.
--
-- In all of the schema: ids sort by age under the C collation, so the newest rows share warm pages. merchant_id leads the
-- keys of the large tables. There are no triggers, and no foreign keys on the tables that every payment writes: the rows
-- of one payment are written in one commit, and `malipo ledger check` looks for anything that does not fit.

-- A merchant: a business whose payments we carry.
CREATE TABLE merchants (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    is_active  boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL
);
COMMENT ON TABLE merchants IS 'A merchant: a business whose payments we carry.';

-- An API key of a merchant. The key itself is shown once and kept nowhere.
CREATE TABLE api_keys (
    id           text COLLATE "C" PRIMARY KEY,
    merchant_id  text COLLATE "C" NOT NULL REFERENCES merchants,
    name         text NOT NULL,
    hash         bytea NOT NULL UNIQUE, -- SHA-256 of the key
    prefix       text NOT NULL,
    last4        text NOT NULL,
    environment  text NOT NULL CHECK (environment IN ('live', 'test')),
    permissions  text[] NOT NULL,
    ip_allowlist cidr[] NOT NULL DEFAULT '{}', -- empty: any address
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
COMMENT ON TABLE api_keys IS 'An API key of a merchant, hashed.';
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, id);

-- When each key's requests of the last minute were let in. A busy key's window has 300 pairs, and every request writes it
-- anew: as packed bytes (see malipo/rate_limit/sliding_window.py) that costs next to nothing.
CREATE TABLE rate_limit_windows (
    key_id     text COLLATE "C" NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    rate_class text NOT NULL CHECK (rate_class IN ('create', 'list', 'other')),
    requests   bytea NOT NULL DEFAULT '', -- when they were let in, packed
    PRIMARY KEY (key_id, rate_class)
    -- What is written anew in a moment is not worth being compressed or put elsewhere.
) WITH (fillfactor = 25, toast_tuple_target = 8160);
COMMENT ON TABLE rate_limit_windows IS 'When the requests of an API key were let in during the last minute, by rate class.';

-- A person of a merchant, who logs in to the dashboard.
CREATE TABLE people (
    id            text COLLATE "C" PRIMARY KEY,
    merchant_id   text COLLATE "C" NOT NULL REFERENCES merchants,
    email         text NOT NULL, -- lower case
    name          text NOT NULL,
    role          text NOT NULL CHECK (role IN ('owner', 'staff', 'viewer')),
    password_hash text, -- argon2id; none until the person has chosen one
    created_at    timestamptz NOT NULL,
    CONSTRAINT people_email_is_unique UNIQUE (email),
    CONSTRAINT people_email_is_lower_case CHECK (email = lower(email))
);
COMMENT ON TABLE people IS 'A person of a merchant, who logs in.';
CREATE INDEX people_of_merchant ON people (merchant_id, id);

-- A session of a person.
CREATE TABLE sessions (
    id           text COLLATE "C" PRIMARY KEY,
    person_id    text COLLATE "C" NOT NULL REFERENCES people ON DELETE CASCADE,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz, -- logged out, or ended by others; none: it was not
    address      text NOT NULL, -- from where they logged in
    user_agent   text NOT NULL
);
COMMENT ON TABLE sessions IS 'A session of a merchant''s person.';
CREATE INDEX sessions_of_person ON sessions (person_id, id);

-- Each refresh token works once. One that comes back after its use is stolen, and ends the session.
CREATE TABLE refresh_tokens (
    hash       bytea PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    used_at    timestamptz
);
COMMENT ON TABLE refresh_tokens IS 'A refresh token of a session, hashed. Each works once.';
CREATE INDEX refresh_tokens_of_session ON refresh_tokens (session_id);

-- One-time links by which a person chooses a password.
CREATE TABLE password_links (
    hash       bytea PRIMARY KEY,
    person_id  text COLLATE "C" NOT NULL REFERENCES people ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
COMMENT ON TABLE password_links IS 'A one-time link by which a person chooses a password, hashed.';

-- Attempts to log in that have not succeeded (yet): an attempt is noted before it is checked.
CREATE TABLE login_attempts (
    subject      text NOT NULL, -- what attempts are counted on: an account, an address, or both
    attempted_at timestamptz NOT NULL
);
COMMENT ON TABLE login_attempts IS 'An attempt to log in that has not succeeded.';
CREATE INDEX login_attempts_by_subject ON login_attempts (subject, attempted_at);

-- An operator: somebody who runs this installation.
CREATE TABLE operators (
    id            text COLLATE "C" PRIMARY KEY,
    name          text NOT NULL,
    created_at    timestamptz NOT NULL,
    password_hash text, -- argon2id; without one they act on the command line only
    CONSTRAINT operators_name_is_unique UNIQUE (name)
);
COMMENT ON TABLE operators IS 'An operator: somebody who runs this installation.';

-- A session of an operator.
CREATE TABLE operator_sessions (
    id          text COLLATE "C" PRIMARY KEY,
    operator_id text COLLATE "C" NOT NULL REFERENCES operators,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    address     text NOT NULL
);
COMMENT ON TABLE operator_sessions IS 'A session of an operator.';

-- The audit log: who did what, when and from where. Never updated, never deleted.
CREATE TABLE audit_log (
    id          text COLLATE "C" PRIMARY KEY,
    created_at  timestamptz NOT NULL,
    actor       text NOT NULL, -- who: a person's email, "operator " and a name, a network, or malipo itself
    address     text NOT NULL, -- from where
    action      text NOT NULL, -- what was done, such as payment.cancelled
    merchant_id text COLLATE "C", -- whom it concerned; none: no merchant
    details     json NOT NULL
);
COMMENT ON TABLE audit_log IS 'Who did what, when and from where. Never updated, never deleted.';
CREATE INDEX audit_log_of_merchant ON audit_log (merchant_id, id);
