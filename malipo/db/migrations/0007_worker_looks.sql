-- How often each worker has looked at the database, about once a second. A database that knows of fewer looks than the
-- worker has made was restored, also if nothing was sent since the backup: payments and events may be lost all the same.
ALTER TABLE worker_send_counts ADD COLUMN look_count bigint NOT NULL DEFAULT 0;
