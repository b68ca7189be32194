-- Serves: 0022
-- When somebody had an approved payout file last: it may be handed in after that. Older processes download none.
ALTER TABLE payout_files ADD COLUMN downloaded_at timestamptz; -- the last time
