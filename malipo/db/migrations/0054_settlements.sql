-- Serves: 0022
-- Settlements: a merchant's balance is sent to its bank account. Older processes know none. There is none before a bank
-- account was added, verified and has waited, which only this version can do. (After a rollback to an older version, the
-- statement of a merchant who has settlements is not shown, and the ledger check reports rows that it does not know.)

-- A merchant's bank account. Never edited: another one replaces it.
CREATE TABLE bank_accounts (
    merchant_id    text COLLATE "C" NOT NULL REFERENCES merchants,
    id             text COLLATE "C" NOT NULL,
    bic            text NOT NULL,
    account_number text NOT NULL, -- a text: letters and leading zeros occur
    holder_name    text NOT NULL,
    status         text NOT NULL CHECK (status IN ('UNVERIFIED', 'VERIFIED', 'REJECTED', 'STOPPED')),
    replaces       text COLLATE "C", -- the account that it stands for, from usable_from on
    created_at     timestamptz NOT NULL,
    created_by     text NOT NULL, -- the email of an owner
    verified_at    timestamptz,
    usable_from    timestamptz, -- some time after verified_at, in which an owner can stop it
    ended_at       timestamptz, -- when it was rejected or stopped
    ended_by       text,
    end_reason     text,
    PRIMARY KEY (merchant_id, id),
    FOREIGN KEY (merchant_id, replaces) REFERENCES bank_accounts,
    CONSTRAINT bank_accounts_are_verified_whole
        CHECK ((verified_at IS NULL) = (usable_from IS NULL) AND (status <> 'VERIFIED' OR verified_at IS NOT NULL)
           AND (status <> 'UNVERIFIED' OR verified_at IS NULL)),
    CONSTRAINT bank_accounts_end_whole
        CHECK ((status IN ('REJECTED', 'STOPPED')) = (ended_at IS NOT NULL) AND (ended_at IS NULL) = (ended_by IS NULL))
);
COMMENT ON TABLE bank_accounts IS 'A bank account of a merchant, to which settlements are sent.';
CREATE INDEX bank_accounts_unverified ON bank_accounts (created_at) WHERE status = 'UNVERIFIED';

-- A settlement: a part of a wallet that is sent to a bank account. Only malipo/settlement/write_status.py writes its status.
CREATE TABLE settlements (
    merchant_id           text COLLATE "C" NOT NULL REFERENCES merchants,
    id                    text COLLATE "C" NOT NULL,
    key                   text COLLATE "C" NOT NULL, -- 16 characters, the EndToEndId of the bank
    reference             text COLLATE "C" NOT NULL,
    status                text NOT NULL CHECK (status IN ('REQUESTED', 'SENT', 'COMPLETED', 'RETURNED', 'CANCELLED')),
    amount                bigint NOT NULL CHECK (amount > 0), -- out of the wallet
    fee                   bigint NOT NULL CHECK (fee >= 0 AND fee < amount), -- within the amount
    bank_account_id       text COLLATE "C", -- none: it was adopted from a bank statement
    order_reference       text,
    idempotency_key       text COLLATE "C",
    request_hash          bytea NOT NULL, -- another request under the same key is refused
    scheduled_on          date, -- by a schedule: the day, in Dar es Salaam
    created_at            timestamptz NOT NULL,
    created_by            text NOT NULL, -- the id of an API key, the email of a person, 'schedule', or an operator
    statement_line        bigint, -- of its debit: where its report ends. None: the wallet bore nothing of an adopted one
    payout_file_id        text COLLATE "C", -- in which file of ours to the bank; none: in no file
    sent_at               timestamptz,
    completed_at          timestamptz,
    booked_on             date, -- by the bank
    bank_reference        text, -- of the bank's debit
    returned_at           timestamptz,
    return_reason         text, -- in the bank's words
    return_booked_on      date,
    return_bank_reference text,
    cancelled_at          timestamptz,
    cancelled_by          text, -- as created_by
    is_adopted            boolean NOT NULL DEFAULT false, -- found on a bank's statement after a restore
    owed                  bigint NOT NULL DEFAULT 0 CHECK (owed >= 0), -- what the wallet could not bear of an adopted one
    borne                 bigint NOT NULL DEFAULT 0 CHECK (borne >= 0), -- of it, what operators have written off
    PRIMARY KEY (merchant_id, id),
    FOREIGN KEY (merchant_id, bank_account_id) REFERENCES bank_accounts,
    CONSTRAINT settlements_key_is_unique UNIQUE (key),
    CONSTRAINT settlements_reference_is_unique UNIQUE (reference),
    CONSTRAINT settlements_idempotency_key_is_unique UNIQUE (merchant_id, idempotency_key),
    CONSTRAINT settlements_one_a_day_by_schedule UNIQUE (merchant_id, scheduled_on),
    CONSTRAINT settlements_times
        CHECK ((status <> 'REQUESTED' OR (sent_at IS NULL AND completed_at IS NULL))
           AND (status NOT IN ('SENT', 'COMPLETED', 'RETURNED') OR sent_at IS NOT NULL)
           AND (status <> 'COMPLETED' OR completed_at IS NOT NULL) AND (status <> 'SENT' OR completed_at IS NULL)
           AND (status = 'RETURNED') = (returned_at IS NOT NULL) AND (status = 'CANCELLED') = (cancelled_at IS NOT NULL)),
    -- Money can have left with a file, so what is in one is not cancelled; and what was sent is in one.
    CONSTRAINT settlements_in_a_file_are_not_cancelled CHECK (status <> 'CANCELLED' OR payout_file_id IS NULL),
    CONSTRAINT settlements_sent_are_in_a_file CHECK (status <> 'SENT' OR payout_file_id IS NOT NULL),
    CONSTRAINT settlements_owe_when_adopted CHECK (is_adopted OR (owed = 0 AND borne = 0))
);
COMMENT ON TABLE settlements IS 'A part of a wallet that is sent to the bank account of its merchant.';
CREATE UNIQUE INDEX settlements_id ON settlements (id);
CREATE INDEX settlements_waiting ON settlements (id) WHERE status = 'REQUESTED' AND payout_file_id IS NULL;
CREATE INDEX settlements_open ON settlements (merchant_id, id) WHERE status IN ('REQUESTED', 'SENT');
CREATE INDEX settlements_of_file ON settlements (payout_file_id, id) WHERE payout_file_id IS NOT NULL;
CREATE INDEX settlements_owing ON settlements (merchant_id, id) WHERE owed > 0;
CREATE UNIQUE INDEX settlements_by_line ON settlements (merchant_id, statement_line) WHERE statement_line IS NOT NULL;

-- When a merchant's balance is settled by itself. Without a row: never.
CREATE TABLE settlement_schedules (
    merchant_id text COLLATE "C" PRIMARY KEY REFERENCES merchants,
    every       text NOT NULL CHECK (every IN ('off', 'day', 'week', 'month')),
    on_day      smallint CHECK (on_day > 0 AND on_day <= CASE every WHEN 'week' THEN 7 ELSE 31 END), -- 1 is Monday; or of the month
    minimum     bigint NOT NULL CHECK (minimum > 0), -- less is not settled
    keep        bigint NOT NULL CHECK (keep >= 0), -- stays in the wallet
    changed_at  timestamptz NOT NULL,
    changed_by  text NOT NULL, -- the email of an owner
    CONSTRAINT settlement_schedules_name_the_day CHECK ((every IN ('week', 'month')) = (on_day IS NOT NULL))
);
COMMENT ON TABLE settlement_schedules IS 'When the balance of a merchant is settled by itself.';

-- That a schedule has run: at most once a merchant and day, whatever happens, also if nothing was settled.
CREATE TABLE settlement_runs (
    merchant_id   text COLLATE "C" NOT NULL REFERENCES merchants,
    day           date NOT NULL, -- in Dar es Salaam
    outcome       text NOT NULL, -- settled, or why not
    settlement_id text COLLATE "C",
    ran_at        timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, day),
    CONSTRAINT settlement_runs_name_what_they_made CHECK ((outcome = 'settled') = (settlement_id IS NOT NULL)),
    FOREIGN KEY (merchant_id, settlement_id) REFERENCES settlements
);
COMMENT ON TABLE settlement_runs IS 'That a merchant''s schedule has run on a day.';

-- Events of settlements, beside `events` as those of batches and links are: older processes pass over them.
CREATE TABLE settlement_events (
    merchant_id   text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    settlement_id text COLLATE "C" NOT NULL,
    event         text NOT NULL, -- settlement.completed, settlement.returned
    body          text NOT NULL,
    created_at    timestamptz NOT NULL,
    feed_number   bigint CHECK (feed_number > 0), -- its place in its merchant's feed, given as to `events`
    PRIMARY KEY (merchant_id, id),
    CONSTRAINT settlement_events_tell_once UNIQUE (merchant_id, settlement_id, event)
);
COMMENT ON TABLE settlement_events IS 'What became of a settlement, with the body that every receiver gets. Part of the feed of events.';
CREATE INDEX settlement_events_unnumbered ON settlement_events (created_at) WHERE feed_number IS NULL;
CREATE UNIQUE INDEX settlement_events_feed ON settlement_events (merchant_id, feed_number) WHERE feed_number IS NOT NULL;

-- The days that statements of our own bank accounts cover, whole and without a gap in their lines.
CREATE TABLE bank_coverage (
    payer_account_id text COLLATE "C" NOT NULL, -- our bank account
    statement_id     text COLLATE "C" NOT NULL,
    first_day        date NOT NULL,
    last_day         date NOT NULL CHECK (last_day >= first_day),
    PRIMARY KEY (payer_account_id, statement_id)
);
COMMENT ON TABLE bank_coverage IS 'The days that statements of our own bank accounts cover.';

-- That operators have released settlements after a restore: schedules run, files are approved, settlements are cancelled again.
CREATE TABLE settlement_releases (
    epoch       bigint PRIMARY KEY, -- of the installation
    released_at timestamptz NOT NULL
);
COMMENT ON TABLE settlement_releases IS 'That operators have released settlements after a restore.';

ALTER TABLE moves
    DROP CONSTRAINT moves_step_check, ADD CONSTRAINT moves_step_check
        CHECK (step IN ('open', 'end', 'contradiction', 'resolution', 'booking', 'return')) NOT VALID,
    DROP CONSTRAINT moves_go_between_known_accounts, ADD CONSTRAINT moves_go_between_known_accounts CHECK (
        source IN ('wallet', 'in_flight', 'in_settlement', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding')
        AND target IN ('wallet', 'in_flight', 'in_settlement', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees',
                       'rounding')) NOT VALID;
