-- Serves: 0022
-- After a restore each connector that may have sent a payment is asked about it, not only the one that carries its channel now. Older
-- processes note no carriers, and ask only the one that carries the channel.

-- Which connector has sent payments of which channel and type, and until when. One row for each, written when payments are claimed,
-- once an hour at most.
CREATE TABLE carriers (
    channel   text NOT NULL,
    type      text NOT NULL,
    connector text NOT NULL,
    last_at   timestamptz NOT NULL DEFAULT now(), -- when it last sent some, to the hour
    PRIMARY KEY (channel, type, connector)
);
COMMENT ON TABLE carriers IS 'Which connector has sent payments of which channel and type, and until when.';
INSERT INTO carriers (channel, type, connector)
SELECT DISTINCT channel, type, connector FROM dispatches WHERE connector IS NOT NULL;

-- Which connectors have answered, since the restore, that they do not have a payment that is asked about first.
ALTER TABLE dispatches ADD COLUMN not_known_to text[] NOT NULL DEFAULT '{}';
