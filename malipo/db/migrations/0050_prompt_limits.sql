-- Serves: 0022
-- Limits of what pay pages ask of phones. Older processes have no pay pages.

CREATE TABLE blocked_numbers (
    phone      text COLLATE "C" PRIMARY KEY,
    reason     text NOT NULL,
    blocked_by text NOT NULL, -- the operator
    blocked_at timestamptz NOT NULL
);
COMMENT ON TABLE blocked_numbers IS 'Numbers that no pay page asks: operators have blocked them.';

CREATE INDEX link_attempts_of_link ON link_attempts (merchant_id, link_id, pressed_at);
CREATE INDEX link_attempts_of_address ON link_attempts (address, pressed_at);
