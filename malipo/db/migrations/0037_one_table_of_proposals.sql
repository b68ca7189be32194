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

-- Resolutions of payments: those that are open. What was decided stays, and the ledger check compares it.
ALTER TABLE resolutions ADD CONSTRAINT resolutions_are_in_proposals CHECK (decided_at IS NOT NULL) NOT VALID;
INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at, terms, reason)
SELECT r.id, CASE WHEN r.is_of_contradiction THEN 'resolve_ended'
                  WHEN t.type = 'DISBURSEMENT' THEN 'resolve_open_payout'
                  WHEN d.is_asked_first OR (d.success_heard_at IS NOT NULL AND r.outcome = 'failed') THEN 'resolve_reported'
                  ELSE 'resolve_open_collection' END,
       r.transaction_id, t.amount, r.requested_by, r.requested_at,
       jsonb_build_object('merchant_id', r.merchant_id, 'outcome', r.outcome, 'provider_reference', r.provider_reference,
                          'is_of_contradiction', r.is_of_contradiction, 'is_despite_waiting', r.is_despite_waiting,
                          'is_waived', r.is_waived),
       r.evidence
FROM resolutions r JOIN transactions t ON t.merchant_id = r.merchant_id AND t.id = r.transaction_id
LEFT JOIN dispatches d ON d.merchant_id = r.merchant_id AND d.transaction_id = r.transaction_id
WHERE r.decided_at IS NULL;
DELETE FROM resolutions WHERE decided_at IS NULL;
COMMENT ON TABLE resolutions IS 'What operators, or malipo itself, decided about a payment. What waits is in proposals.';

-- What is proposed about exceptions. What was done, or rejected before, stays: bookings and undos refer to it.
ALTER TABLE exception_resolutions ADD CONSTRAINT exception_resolutions_are_in_proposals CHECK (decided_at IS NOT NULL) NOT VALID;
INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at, terms, reason)
SELECT r.id, CASE r.action WHEN 'match' THEN 'match_line' WHEN 'adopt' THEN 'adopt_line' WHEN 'note' THEN 'note'
                  WHEN 'book' THEN CASE WHEN t.type = 'DISBURSEMENT' OR (l.kind = 'money' AND l.amount < 0)
                                        THEN 'book_payout_line' ELSE 'book_line' END
                  WHEN 'undo' THEN CASE WHEN u.decided_by <> u.requested_by THEN 'undo_of_two' ELSE 'undo' END
                  ELSE coalesce((SELECT p.action FROM proposals p WHERE p.subject = e.transaction_id AND p.decided_at IS NULL
                                 LIMIT 1), 'resolve_open_payout') END,
       r.exception_id, r.amount, r.requested_by, r.requested_at,
       jsonb_build_object('action', r.action, 'terms', r.terms::jsonb), r.reason
FROM exception_resolutions r JOIN reconciliation_exceptions e ON e.id = r.exception_id
LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
LEFT JOIN statement_lines l ON l.id = e.line_id
LEFT JOIN exception_resolutions u ON u.id = r.terms ->> 'resolution'
WHERE r.decided_at IS NULL;
DELETE FROM exception_resolutions WHERE decided_at IS NULL;
COMMENT ON TABLE exception_resolutions IS 'What operators have done about exceptions. What waits is in proposals.';

-- What is proposed about statements. A booking that one operator undid alone, because it was small, was never proposed to another: the
-- booking the other way says so. A line that was withdrawn names the proposal, which is in the other table from now on.
ALTER TABLE statement_proposals ADD CONSTRAINT statement_proposals_are_in_proposals CHECK (decided_at IS NOT NULL) NOT VALID;
ALTER TABLE withdrawn_lines DROP CONSTRAINT withdrawn_lines_proposal_id_fkey;
INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at, decided_by, decided_at, is_approved, terms, reason)
SELECT id, CASE action WHEN 'withdraw' THEN 'withdraw_statement' ELSE 'undo_statement_booking' END, coalesce(booking_id, file_id),
       amount, requested_by, requested_at, decided_by, decided_at, is_approved,
       jsonb_build_object('file_id', file_id, 'booking_id', booking_id), reason
FROM statement_proposals WHERE NOT (is_approved IS TRUE AND decided_by = requested_by);
DELETE FROM statement_proposals WHERE decided_at IS NULL;
COMMENT ON TABLE statement_proposals IS 'Not used any more: see proposals.';

-- Days that are closed with a difference.
ALTER TABLE day_close_proposals ADD CONSTRAINT day_close_proposals_are_in_proposals CHECK (decided_at IS NOT NULL) NOT VALID;
INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at, decided_by, decided_at, is_approved, terms, reason)
SELECT id, 'close_with_difference', day::text, 0, requested_by, requested_at, decided_by, decided_at, is_approved,
       jsonb_build_object('hash', encode(hash, 'hex'), 'without', to_jsonb(without)), reason
FROM day_close_proposals;
DELETE FROM day_close_proposals WHERE decided_at IS NULL;
COMMENT ON TABLE day_close_proposals IS 'Not used any more: see proposals.';

-- Releases after a restore. Several could be proposed at once about the same: the first is kept. One that the only operator approved
-- before that was written down is left out.
ALTER TABLE restore_releases ADD CONSTRAINT restore_releases_are_in_proposals CHECK (approved_at IS NOT NULL) NOT VALID;
INSERT INTO proposals (id, action, subject, amount, requested_by, requested_at, decided_by, decided_at, is_approved, is_single_operator,
                       terms, reason)
SELECT id, 'release', concat_ws(' ', epoch, channel, type), 0, requested_by, requested_at, approved_by, approved_at,
       CASE WHEN approved_at IS NOT NULL THEN true END, is_single_operator,
       jsonb_build_object('epoch', epoch, 'channel', channel, 'type', type), evidence
FROM restore_releases WHERE is_single_operator OR approved_by IS DISTINCT FROM requested_by ORDER BY id
ON CONFLICT DO NOTHING;
DELETE FROM restore_releases WHERE approved_at IS NULL;
COMMENT ON TABLE restore_releases IS 'Not used any more: see proposals.';
