-- Serves: 0022
-- A payment that a network has refused shows the network's own code, and what the network said beyond our code for it. Older
-- processes neither write nor read them.
ALTER TABLE transactions ADD COLUMN failure_detail text; -- such as not_registered; null: the network has not said more
ALTER TABLE transactions ADD COLUMN network_code text; -- of the answer that ended it as FAILED; null: no answer did
