-- Serves: 0022
-- The history of bookings, newest first; and those of one merchant. Both tables are small: operators write them by hand.
CREATE INDEX bookings_by_time ON bookings (created_at, id);
CREATE INDEX bookings_of_merchant ON bookings (merchant_id, created_at, id);
CREATE INDEX house_bookings_by_time ON house_bookings (booked_at, id);
