-- Serves: 0022
-- Statements of networks and banks as they came: what auditors ask for, beside the lines that malipo read in them. Older
-- processes keep none; for files that they import, the archive of a month has the lines.
CREATE TABLE file_contents (
    sha256  bytea NOT NULL, -- of the whole file: the same file is kept once
    part    integer NOT NULL, -- from 0
    content bytea NOT NULL, -- zlib
    PRIMARY KEY (sha256, part)
);
COMMENT ON TABLE file_contents IS 'Files from outside as they came, in compressed parts. Never changed.';
-- The parts are compressed already.
ALTER TABLE file_contents ALTER COLUMN content SET STORAGE EXTERNAL;
