-- Serves: 0022
-- What failed is paid again, and may turn out paid before that is sent. Older processes write no such row and look at none:
-- what they approve and send is not compared.

-- A payout that pays again what has failed, and what it is paid in place of. Written in the commit that creates the payout,
-- and never changed. Whether that one still counts as failed is in its status, its correction and its dispatch.
CREATE TABLE retries (
    merchant_id text COLLATE "C" NOT NULL,
    payout_id   text COLLATE "C" NOT NULL,
    retry_of    text COLLATE "C" NOT NULL, -- the payout that has failed; it may be a retry itself
    PRIMARY KEY (merchant_id, payout_id)
);
COMMENT ON TABLE retries IS 'A payout that is paid in place of one that has failed.';

ALTER TABLE batch_items ADD COLUMN retry_of text COLLATE "C"; -- the payout that has failed, and that this pays again
