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
COMMENT ON TABLE installation IS 'One row: what this installation is, its epoch, and whether anything may be sent.';
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
COMMENT ON TABLE channel_holds IS 'A channel''s collections or payouts that operators hold: they wait PENDING.';

-- Channels without a query that operators have released after a restore: what waits there may be sent in that epoch.
CREATE TABLE channel_releases (
    epoch   bigint NOT NULL,
    channel text NOT NULL,
    type    text NOT NULL,
    PRIMARY KEY (epoch, channel, type)
);
COMMENT ON TABLE channel_releases IS 'A channel without a query that may send again after a restore, in one epoch.';

-- How many batches of payments each worker has sent. Their sum only grows; a database that knows of fewer than a worker
-- has seen was restored. seen_at and server_id say which workers live, and which server each has last looked at.
CREATE TABLE worker_send_counts (
    worker_id   text COLLATE "C" PRIMARY KEY,
    host        text NOT NULL,
    batch_count bigint NOT NULL DEFAULT 0,
    seen_at     timestamptz NOT NULL DEFAULT now(), -- -infinity: it has ended
    server_id   text NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE worker_send_counts IS 'How many batches each worker has sent, and when it was last seen.';

-- Where each feed ended when an epoch began: cursors of the epoch before that lie beyond it point at events that are lost.
CREATE TABLE feed_restore_points (
    merchant_id text COLLATE "C" NOT NULL,
    epoch       bigint NOT NULL, -- that began
    last_number bigint NOT NULL,
    PRIMARY KEY (merchant_id, epoch)
);
COMMENT ON TABLE feed_restore_points IS 'Where a merchant''s feed ended when an epoch began.';

-- What operators say before a restored installation may send again.
CREATE TABLE restore_releases (
    id                 text COLLATE "C" PRIMARY KEY,
    epoch              bigint NOT NULL,
    channel            text, -- none: the installation
    type               text,
    evidence           text NOT NULL,
    requested_by       text NOT NULL,
    requested_at       timestamptz NOT NULL,
    approved_by        text, -- none: it is open
    approved_at        timestamptz,
    is_single_operator boolean NOT NULL DEFAULT false -- there was nobody else who could approve it
);
COMMENT ON TABLE restore_releases IS 'What operators say before a restored installation may send again.';
