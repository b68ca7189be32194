-- The people of a merchant and their sessions; operators, and an account of everything they do.

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
CREATE INDEX people_of_merchant ON people (merchant_id, id);

CREATE TABLE sessions (
    id           text COLLATE "C" PRIMARY KEY,
    person_id    text COLLATE "C" NOT NULL REFERENCES people ON DELETE CASCADE,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    address      text NOT NULL,
    user_agent   text NOT NULL
);
CREATE INDEX sessions_of_person ON sessions (person_id, id);

-- Each refresh token works once. One that comes back after its use is stolen, and ends the session.
CREATE TABLE refresh_tokens (
    hash       bytea PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX refresh_tokens_of_session ON refresh_tokens (session_id);

-- One-time links by which a person chooses a password.
CREATE TABLE password_links (
    hash       bytea PRIMARY KEY,
    person_id  text COLLATE "C" NOT NULL REFERENCES people ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);

-- Attempts to log in that have not succeeded (yet): an attempt is noted before it is checked.
CREATE TABLE login_attempts (
    subject text NOT NULL, -- an email, or an address
    at      timestamptz NOT NULL
);
CREATE INDEX login_attempts_by_subject ON login_attempts (subject, at);

CREATE TABLE operators (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT operators_name_is_unique UNIQUE (name)
);

-- Who did what, when and from where. Never updated, never deleted.
CREATE TABLE audit (
    id          text COLLATE "C" PRIMARY KEY,
    at          timestamptz NOT NULL,
    who         text NOT NULL,
    origin      text NOT NULL, -- from where
    what        text NOT NULL,
    merchant_id text COLLATE "C",
    details     json NOT NULL
);
CREATE INDEX audit_of_merchant ON audit (merchant_id, id);
