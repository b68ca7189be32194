-- Serves: 0022
-- Merchants' two persons are two. A link for a password that somebody else has made for a person, and a second factor that somebody
-- else has reset, are kept beside those of operators; and a weaker rule of approval waits. A row names the person by email, as
-- batches do, and outlives the person: an account that was made and removed approves and makes nothing meanwhile.
ALTER TABLE credential_resets ALTER COLUMN operator_id DROP NOT NULL;
ALTER TABLE credential_resets ADD COLUMN merchant_id text COLLATE "C";
ALTER TABLE credential_resets ADD COLUMN email text;
COMMENT ON TABLE credential_resets IS 'A password or second factor of an operator, or of a merchant''s person, that somebody else has reset.';
COMMENT ON COLUMN credential_resets.merchant_id IS 'Of a person; none: it is an operator''s.';
COMMENT ON COLUMN credential_resets.email IS 'Whose it is, of a merchant''s people.';
ALTER TABLE credential_resets ADD CONSTRAINT credential_resets_whose
    CHECK ((operator_id IS NULL) = (email IS NOT NULL) AND (merchant_id IS NULL) = (email IS NULL)) NOT VALID;
CREATE INDEX credential_resets_of_merchant ON credential_resets (merchant_id, reset_at) WHERE vouched_at IS NULL AND merchant_id IS NOT NULL;

-- Links that are open now, or were used a short time ago. The first person of a merchant has nobody who could vouch.
INSERT INTO credential_resets (id, merchant_id, email, credential, reset_by, reset_at)
SELECT 'crs_' || left(encode(l.hash, 'hex'), 26), p.merchant_id, p.email, 'password',
       coalesce(l.made_by_operator, m.email, 'unknown'), l.created_at
FROM password_links l JOIN people p ON p.id = l.person_id LEFT JOIN people m ON m.id = l.made_by_person
WHERE l.created_at > now() - interval '72 hours'
  AND EXISTS (SELECT FROM people o WHERE o.merchant_id = p.merchant_id AND o.id <> p.id AND o.password_hash IS NOT NULL);

-- A rule of approval that is weaker than the one that holds. It holds when 72 hours are over, or when a second owner confirms it.
CREATE TABLE approval_rule_changes (
    merchant_id  text COLLATE "C" PRIMARY KEY REFERENCES merchants,
    takes_two    boolean NOT NULL,
    above        bigint CONSTRAINT approval_rule_changes_above CHECK (above >= 0), -- none: no amount
    requested_by text NOT NULL, -- an owner's email
    requested_at timestamptz NOT NULL
);
COMMENT ON TABLE approval_rule_changes IS 'A weaker rule of approval that an owner has asked for, and that waits.';
