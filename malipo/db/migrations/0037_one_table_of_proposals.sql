-- Serves: 0022
-- All that waits for a second operator is in one table, `proposals`. What was proposed before is copied, and goes on waiting there.
-- Older processes take payments as before. But each place where they kept what waits refuses an open proposal from now on, so that
-- none is lost and none is done twice: an operator who proposes there gets an error, nothing is done, and does it in the new version.
ALTER TABLE proposals
    ADD COLUMN terms jsonb NOT NULL DEFAULT '{}', -- what exactly is to be done
    ADD COLUMN reason text NOT NULL DEFAULT ''; -- why, or the evidence for it
COMMENT ON COLUMN proposals.terms IS 'What exactly is to be done; each act has its own fields.';
COMMENT ON COLUMN proposals.reason IS 'Why, or the evidence for it, in the words of who proposed it.';

-- Bookings: all of them, because the ledger check compares those that were approved with what was booked. (An open transfer in each
-- direction with one reference was possible: one of them is found by its id only.)
ALTER TABLE booking_proposals ADD CONSTRAINT booking_proposals_are_in_proposals CHECK (decided_at IS NOT NULL) NOT VALID;
INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at, decided_by, decided_at, is_approved, terms)
SELECT id, CASE WHEN kind IN ('top_up', 'settlement') THEN kind ELSE 'transfer' END,
       CASE WHEN kind = 'from_bank' AND EXISTS (SELECT FROM booking_proposals o WHERE o.kind = 'to_bank' AND o.decided_at IS NULL
                                                AND o.bank_reference = p.bank_reference)
            THEN bank_reference || ' from_bank' ELSE bank_reference END,
       amount, requested_by, requested_at, decided_by, decided_at, is_approved,
       jsonb_build_object('kind', kind, 'bank_reference', bank_reference, 'merchant_id', merchant_id, 'channel', channel,
                          'account', account)
FROM booking_proposals p;
DELETE FROM booking_proposals WHERE decided_at IS NULL;
COMMENT ON TABLE booking_proposals IS 'Not used any more: see proposals.';
