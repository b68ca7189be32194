-- Serves: 0014
-- A delivery is written once, and once more when it was tried. No room beside it makes that cheaper, because its state is in
-- the condition of an index, so less room is left. What is there stays as it is; new pages are fuller.
ALTER TABLE webhook_deliveries SET (fillfactor = 95);
