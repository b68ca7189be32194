-- Serves: 0022
-- A way from suspense to a wallet: money that was booked to suspense because nobody knew whose it was, and that two operators
-- credit to its merchant. Older processes make none; their ledger check then reports such a booking as one that it does not know.
ALTER TABLE bookings
    ADD COLUMN releases text COLLATE "C", -- of a release: the house booking whose money it takes out of suspense
    DROP CONSTRAINT bookings_kind_check, ADD CONSTRAINT bookings_kind_check
        CHECK (kind IN ('top_up', 'settlement', 'suspense_release')) NOT VALID,
    ADD CONSTRAINT bookings_release_something CHECK ((kind = 'suspense_release') = (releases IS NOT NULL)) NOT VALID;
CREATE INDEX bookings_releases ON bookings (releases) WHERE releases IS NOT NULL;
