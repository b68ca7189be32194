-- The second factor of a log-in: authenticator apps, recovery codes, log-ins that wait for a code, browsers that are not
-- asked again; and log-ins from a new place.

-- An authenticator app (TOTP) of a merchant's person or of an operator.
CREATE TABLE second_factors (
    account_id  text COLLATE "C" PRIMARY KEY, -- of a person (per_…) or of an operator (opr_…)
    secret      bytea NOT NULL, -- encrypted
    enrolled_at timestamptz NOT NULL,
    last_step   bigint NOT NULL -- of the last code that was used, in steps of 30 seconds since 1970
);
COMMENT ON TABLE second_factors IS 'An authenticator app of a merchant''s person or of an operator.';

-- Each recovery code works once. Together they are made anew.
CREATE TABLE recovery_codes (
    account_id text COLLATE "C" NOT NULL REFERENCES second_factors ON DELETE CASCADE,
    hash       bytea NOT NULL,
    used_at    timestamptz,
    PRIMARY KEY (account_id, hash)
);
COMMENT ON TABLE recovery_codes IS 'A recovery code of a second factor, hashed. Each works once.';

-- A log-in whose password was right and that waits for a code. It is no session: it opens no page.
CREATE TABLE pending_logins (
    hash       bytea PRIMARY KEY, -- of what the browser's cookie holds
    account_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    attempts   integer NOT NULL DEFAULT 0 -- codes that were tried
);
COMMENT ON TABLE pending_logins IS 'A log-in that waits for a code. It is no session.';
CREATE INDEX pending_logins_of_account ON pending_logins (account_id);

-- A log-in from a new place, until the person or the operator has seen the message about it.
CREATE TABLE new_place_alerts (
    session_id text COLLATE "C" PRIMARY KEY, -- the session that it is about
    account_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    address    text NOT NULL,
    user_agent text NOT NULL,
    read_at    timestamptz
);
COMMENT ON TABLE new_place_alerts IS 'A message about a log-in from a new place.';
CREATE INDEX new_place_alerts_unread ON new_place_alerts (account_id) WHERE read_at IS NULL;

-- Whether all people of a merchant need a second factor.
ALTER TABLE merchants ADD COLUMN requires_second_factor boolean NOT NULL DEFAULT false;

-- The networks (/24 or /64) from which a person or an operator has logged in.
CREATE TABLE login_places (
    account_id   text COLLATE "C" NOT NULL,
    network      text NOT NULL, -- such as 196.41.0.0/24
    last_seen_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, network)
);
COMMENT ON TABLE login_places IS 'A network from which a person or an operator has logged in.';

-- Until when this browser is not asked for a code; none: it is asked.
ALTER TABLE known_browsers ADD COLUMN trusted_until timestamptz;

-- As sessions of people have it: which browser it is.
ALTER TABLE operator_sessions ADD COLUMN user_agent text NOT NULL DEFAULT '';
