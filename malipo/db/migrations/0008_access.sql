-- Log-in and passwords: when the password was last typed, who made a link, browsers that have logged in before, and how
-- many log-ins have failed.

-- An act such as making an API key needs a recent confirmation. A session that has begun is a confirmation.
ALTER TABLE sessions ADD COLUMN confirmed_at timestamptz; -- when the password was last typed
UPDATE sessions SET confirmed_at = created_at;
ALTER TABLE sessions ALTER COLUMN confirmed_at SET NOT NULL;
ALTER TABLE operator_sessions ADD COLUMN confirmed_at timestamptz, ADD COLUMN last_used_at timestamptz;
UPDATE operator_sessions SET confirmed_at = created_at, last_used_at = created_at;
ALTER TABLE operator_sessions ALTER COLUMN confirmed_at SET NOT NULL, ALTER COLUMN last_used_at SET NOT NULL;
CREATE INDEX operator_sessions_of_operator ON operator_sessions (operator_id, id);

-- A link dies with the session in which it was made, and with the person or operator who made it. Links that were made
-- before this are of nobody, and so old by now that they need not be kept.
DELETE FROM password_links;
ALTER TABLE password_links
    ADD COLUMN made_by_person   text COLLATE "C" REFERENCES people ON DELETE CASCADE,
    ADD COLUMN made_in_session  text COLLATE "C" REFERENCES sessions ON DELETE CASCADE,
    ADD COLUMN made_by_operator text, -- a name, of an operator or of the user of a machine
    ADD COLUMN ended_at         timestamptz, -- it no longer works, though nobody has used it
    ADD CONSTRAINT password_links_made_by_somebody CHECK ((made_by_operator IS NULL) <> (made_by_person IS NULL)),
    ADD CONSTRAINT password_links_of_people_in_sessions CHECK ((made_by_person IS NULL) = (made_in_session IS NULL));
CREATE INDEX password_links_of_person ON password_links (person_id);
CREATE INDEX password_links_made_by ON password_links (made_by_person);
CREATE INDEX password_links_made_in ON password_links (made_in_session);

-- A browser in which a person or an operator has logged in before. Attempts from it are counted apart, so that nobody can
-- lock its owner out by guessing.
CREATE TABLE known_browsers (
    id            text COLLATE "C" PRIMARY KEY,
    person_id     text COLLATE "C" REFERENCES people ON DELETE CASCADE,
    operator_id   text COLLATE "C" REFERENCES operators ON DELETE CASCADE,
    hash          bytea NOT NULL, -- SHA-256 of what the browser's cookie holds
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL,
    user_agent    text NOT NULL,
    address       text NOT NULL, -- from where it logged in last
    CONSTRAINT known_browsers_of_somebody CHECK ((person_id IS NULL) <> (operator_id IS NULL))
);
COMMENT ON TABLE known_browsers IS 'A browser in which a person or an operator has logged in before, hashed.';
CREATE UNIQUE INDEX known_browsers_of_person ON known_browsers (person_id, hash) WHERE person_id IS NOT NULL;
CREATE UNIQUE INDEX known_browsers_of_operator ON known_browsers (operator_id, hash) WHERE operator_id IS NOT NULL;
CREATE INDEX known_browsers_by_hash ON known_browsers (hash);
CREATE INDEX known_browsers_by_use ON known_browsers (last_seen_at);

-- Failed log-ins by account and hour. The first few of an hour stand in the audit log, the others are counted here, and
-- stand there as one entry when the hour is over: nobody can fill the audit log by guessing.
CREATE TABLE failed_logins (
    account     text NOT NULL, -- "person " or "operator " and an id; "unknown" for all names without an account
    hour        timestamptz NOT NULL,
    name        text NOT NULL, -- the account's email or name; empty if it is unknown
    merchant_id text COLLATE "C",
    failures    bigint NOT NULL, -- with a wrong password
    throttled   bigint NOT NULL, -- refused before the password was looked at
    PRIMARY KEY (account, hour)
);
COMMENT ON TABLE failed_logins IS 'How many log-ins have failed, by account and hour, until the audit log says so.';

-- For pruning.
CREATE INDEX login_attempts_by_time ON login_attempts (attempted_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX operator_sessions_by_end ON operator_sessions (expires_at);
CREATE INDEX password_links_by_end ON password_links (expires_at);
