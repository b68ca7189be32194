-- Serves: 0022
-- Spreadsheets of payouts that somebody has sent and not submitted yet. Older processes know none of them.
-- A sheet as it was read, and what was mended in it. One becomes one batch: its id is the key of that request.
CREATE TABLE batch_drafts (
    id          text COLLATE "C" PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    person      text NOT NULL, -- the email of who has sent it: nobody else sees it
    filename    text NOT NULL,
    sheet       bytea NOT NULL, -- JSON: its rows as texts, and which column is what
    edits       bytea NOT NULL, -- JSON: what was typed instead, by row, and which rows are left out
    batch_id    text COLLATE "C", -- that was made of it; null: none yet
    created_at  timestamptz NOT NULL
);
COMMENT ON TABLE batch_drafts IS 'Spreadsheets of payouts before they are submitted as a batch. Kept for a week.';
CREATE INDEX batch_drafts_of_person ON batch_drafts (merchant_id, person, id);
