-- What an installation knows of itself: its secret for network keys, its epochs, and whether anything may be sent.

-- One row. An epoch begins when it is noticed that the database was restored from a backup; until operators release it,
-- the installation is fenced: nothing is sent, and nothing that moves money is taken in.
CREATE TABLE installation (
    is_only        boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    id             text NOT NULL,
    key_secret     bytea NOT NULL, -- network keys are derived with it. Never changed: else repeated requests would pay twice
    epoch          bigint NOT NULL DEFAULT 1, -- then the second at which a restore was noticed: no two are the same
    epoch_began_at timestamptz NOT NULL DEFAULT now(),
    fenced_at      timestamptz, -- none: it is not
    fence_reason   text,
    held_at        timestamptz, -- operators hold everything; none: they do not
    held_by        text,
    hold_reason    text
) WITH (fillfactor = 50);
INSERT INTO installation (id, key_secret)
VALUES ('ins_' || replace(gen_random_uuid()::text, '-', ''),
        sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- What operators hold of a channel: its collections or its payouts wait PENDING.
CREATE TABLE channel_holds (
    channel text NOT NULL,
    type    text NOT NULL,
    held_at timestamptz NOT NULL,
    held_by text NOT NULL,
    reason  text NOT NULL,
    PRIMARY KEY (channel, type)
);

-- Channels without a query that operators have released after a restore: what waits there may be sent in that epoch.
CREATE TABLE channel_releases (
    epoch   bigint NOT NULL,
    channel text NOT NULL,
    type    text NOT NULL,
    PRIMARY KEY (epoch, channel, type)
);

-- How many batches of payments each worker has sent. Their sum only grows; a database that knows of fewer than a worker
-- has seen was restored. seen_at and server say which workers live, and which server each has last looked at.
CREATE TABLE send_marks (
    worker_id text COLLATE "C" PRIMARY KEY,
    host      text NOT NULL,
    batches   bigint NOT NULL DEFAULT 0,
    seen_at   timestamptz NOT NULL DEFAULT now(), -- -infinity: it has ended
    server    text NOT NULL
) WITH (fillfactor = 50);

-- Where each feed ended when an epoch began: cursors of the epoch before that lie beyond it point at events that are lost.
CREATE TABLE feed_epochs (
    merchant_id text COLLATE "C" NOT NULL,
    epoch       bigint NOT NULL, -- that began
    last        bigint NOT NULL,
    PRIMARY KEY (merchant_id, epoch)
);

-- What operators say before a restored installation may send again.
CREATE TABLE restore_releases (
    id          text COLLATE "C" PRIMARY KEY,
    epoch       bigint NOT NULL,
    channel     text, -- none: the installation
    type        text,
    evidence    text NOT NULL,
    proposed_by text NOT NULL,
    proposed_at timestamptz NOT NULL,
    approved_by text,
    approved_at timestamptz,
    is_alone    boolean NOT NULL DEFAULT false
);

-- A payment that may have been sent before the restore: its network is asked before it is sent, lapses or is cancelled.
ALTER TABLE dispatches ADD COLUMN is_asked_first boolean NOT NULL DEFAULT false;
CREATE INDEX dispatches_asked_first ON dispatches (channel, type, due_at) WHERE is_asked_first AND route IS NULL;
