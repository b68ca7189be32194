-- An operator's password that another operator has set, or a second factor that another has reset. Whoever did it may know
-- enough to log in as that operator, and be two of the two whom a large decision takes.
CREATE TABLE credential_resets (
    id          text COLLATE "C" PRIMARY KEY,
    operator_id text COLLATE "C" NOT NULL REFERENCES operators ON DELETE CASCADE,
    credential  text NOT NULL CONSTRAINT credential_resets_credential CHECK (credential IN ('password', 'second_factor')),
    reset_by    text NOT NULL, -- "operator " and a name, as in the audit log
    reset_at    timestamptz NOT NULL,
    vouched_by  text, -- a third operator, who knows that it was right
    vouched_at  timestamptz,
    CONSTRAINT credential_resets_vouched_for CHECK ((vouched_by IS NULL) = (vouched_at IS NULL))
);
COMMENT ON TABLE credential_resets IS 'A password or second factor of an operator that another operator has reset.';
CREATE INDEX credential_resets_open ON credential_resets (reset_at) WHERE vouched_at IS NULL;
