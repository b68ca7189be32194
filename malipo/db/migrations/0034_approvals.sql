-- Serves: 0022
-- One rule for every act of operators that moves or makes money: what each of them moves alone is counted over 24 hours, in one
-- table; and what a statement's file alone would end or contradict, above the amount, waits for a second operator. Older
-- processes count as before, each kind of act for itself, and report what waits when they match: end them soon.

-- What operators have moved without a second one, in shillings. Never changed.
CREATE TABLE moved_alone (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator text NOT NULL, -- as the audit log names who acts
    action   text NOT NULL, -- of malipo/approvals/acts.py
    subject  text NOT NULL, -- the id of what was moved, or a reference
    amount   bigint NOT NULL CONSTRAINT moved_alone_is_positive CHECK (amount > 0),
    moved_at timestamptz NOT NULL
);
COMMENT ON TABLE moved_alone IS 'What operators have moved without a second one. Never changed.';
CREATE INDEX moved_alone_of_operator ON moved_alone (operator, moved_at);

-- What waits, or has waited, for a second operator.
CREATE TABLE proposals (
    id           text COLLATE "C" PRIMARY KEY,
    action       text NOT NULL, -- of malipo/approvals/acts.py
    subject      text COLLATE "C" NOT NULL, -- the id of what it is about: of an import, the file
    amount       bigint NOT NULL, -- what it moves, in shillings
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL,
    decided_by   text, -- none: it is open
    decided_at   timestamptz,
    is_approved  boolean,
    is_single_operator boolean NOT NULL DEFAULT false, -- the only operator there is has approved it
    CONSTRAINT proposals_are_decided_whole CHECK ((decided_at IS NULL) = (decided_by IS NULL)
                                              AND (decided_at IS NULL) = (is_approved IS NULL)),
    CONSTRAINT proposals_take_two CHECK (is_single_operator OR NOT (is_approved AND decided_by = requested_by))
);
COMMENT ON TABLE proposals IS 'What one operator has begun and another decides.';
CREATE UNIQUE INDEX proposals_open ON proposals (action, subject) WHERE decided_at IS NULL;
CREATE INDEX proposals_of_subject ON proposals (subject);

ALTER TABLE statement_matches
    ADD COLUMN proposal_id text COLLATE "C", -- its report to the payment waits for a second operator, or was rejected
    ADD COLUMN is_counted boolean NOT NULL DEFAULT false; -- its report may be made: it was counted, or approved

-- What was moved alone in the last 24 hours goes on counting.
INSERT INTO moved_alone (operator, action, subject, amount, moved_at)
SELECT actor, 'top_up', coalesce(details ->> 'reference', ''), (details ->> 'amount')::bigint, created_at
FROM audit_log
WHERE created_at > now() - interval '24 hours' AND details ->> 'proposed_by' IS NULL
  AND action IN ('wallet.top_up', 'wallet.settlement', 'float.to_bank', 'float.from_bank')
  AND (details ->> 'amount')::bigint > 0;
INSERT INTO moved_alone (operator, action, subject, amount, moved_at)
SELECT requested_by, CASE action WHEN 'undo' THEN 'undo' ELSE 'book_line' END, exception_id, abs(amount), requested_at
FROM exception_resolutions
WHERE requested_at > now() - interval '24 hours' AND decided_by = requested_by AND is_approved
  AND action IN ('book', 'undo') AND amount <> 0;
INSERT INTO moved_alone (operator, action, subject, amount, moved_at)
SELECT requested_by, 'undo_statement_booking', coalesce(booking_id, file_id), abs(amount), requested_at
FROM statement_proposals
WHERE requested_at > now() - interval '24 hours' AND decided_by = requested_by AND is_approved AND amount <> 0;
