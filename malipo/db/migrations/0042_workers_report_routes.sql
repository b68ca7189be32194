-- Serves: 0022
-- Each worker reports which channels it carries: operators cancel an active merchant's payout only where none does. A command has an
-- environment of its own, which may lack a network that the workers have.
ALTER TABLE worker_send_counts ADD COLUMN routes text[]; -- such as MPESA DISBURSEMENT; null: it has not reported them
ALTER TABLE worker_send_counts ADD COLUMN routes_at timestamptz; -- when it last did

-- Where no worker has reported, two operators decide.
ALTER TABLE resolutions DROP CONSTRAINT resolutions_outcome_check;
ALTER TABLE resolutions ADD CONSTRAINT resolutions_outcome_check CHECK (outcome IN ('completed', 'failed', 'send', 'cancel')) NOT VALID;
