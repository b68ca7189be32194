-- Serves: 0022
-- When a payout file may be downloaded for the first time. Older processes know nothing of banks.

ALTER TABLE payout_files ADD COLUMN looks jsonb;
COMMENT ON COLUMN payout_files.looks IS
    'How often each worker had looked at the database at the approval. The file is downloaded once a mark has a later look.';
