-- Serves: 0022
-- The way back from a wallet to suspense: what was credited to the wrong merchant, or is a payment's after all. Older processes make
-- none; their ledger check then reports such a booking as one that it does not know.
ALTER TABLE bookings
    DROP CONSTRAINT bookings_kind_check, ADD CONSTRAINT bookings_kind_check
        CHECK (kind IN ('top_up', 'settlement', 'suspense_release', 'suspense_take_back')) NOT VALID,
    DROP CONSTRAINT bookings_release_something, ADD CONSTRAINT bookings_release_something
        CHECK ((kind IN ('suspense_release', 'suspense_take_back')) = (releases IS NOT NULL)) NOT VALID;
COMMENT ON COLUMN bookings.releases IS
    'Of a release out of suspense, and of what is taken back into it: the house booking whose money it is.';
