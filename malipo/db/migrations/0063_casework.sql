-- Serves: 0022
-- Who looks after a case or an exception and until when, and the files about it. Older processes show none of it.

CREATE TABLE assignments (
    subject     text COLLATE "C" PRIMARY KEY, -- an exception (exc_…) or a payment (txn_…)
    merchant_id text COLLATE "C", -- of the payment
    owner       text REFERENCES operators (name), -- none: only the day is set
    due_on      date,
    set_by      text NOT NULL,
    set_at      timestamptz NOT NULL,
    CONSTRAINT assignments_say_something CHECK (owner IS NOT NULL OR due_on IS NOT NULL)
);
COMMENT ON TABLE assignments IS 'Who looks after a case or an exception, and until when.';
CREATE INDEX assignments_of_owner ON assignments (owner) WHERE owner IS NOT NULL;
CREATE INDEX assignments_due ON assignments (due_on) WHERE due_on IS NOT NULL;

CREATE TABLE attachments (
    id          text COLLATE "C" PRIMARY KEY,
    subject     text COLLATE "C" NOT NULL, -- an exception (exc_…) or a payment (txn_…)
    merchant_id text COLLATE "C", -- of the payment
    name        text NOT NULL, -- as whoever added it called it
    kind        text NOT NULL CHECK (kind IN ('pdf', 'png', 'jpeg', 'xlsx', 'text')), -- by its content
    size        integer NOT NULL CHECK (size BETWEEN 1 AND 2097152),
    sha256      text NOT NULL, -- in hexadecimal
    content     bytea NOT NULL,
    added_by    text NOT NULL,
    added_at    timestamptz NOT NULL,
    CONSTRAINT attachments_once UNIQUE (subject, sha256),
    CONSTRAINT attachments_are_whole CHECK (octet_length(content) = size)
);
COMMENT ON TABLE attachments IS 'A file about a case or an exception. Never changed.';
