-- Serves: 0014
-- What networks say of our accounts: files that operators imported, and their lines. Nothing here is changed or pruned: it is
-- the evidence for what was decided.
CREATE TABLE statement_files (
    id          text COLLATE "C" PRIMARY KEY,
    channel     text NOT NULL,
    account     text NOT NULL, -- of several at one network; '' if there is only one
    sha256      bytea NOT NULL, -- of the file: the same one is not imported twice
    name        text NOT NULL,
    profile     text NOT NULL,
    begins_at   timestamptz, -- what it covers, as its heading says; else its first and last line; NULL: it says nothing
    ends_at     timestamptz,
    opening     bigint,
    closing     bigint,
    line_count  integer NOT NULL,
    new_count   integer NOT NULL, -- those that no file before it had
    problems    text[] NOT NULL, -- what does not add up, and was accepted
    imported_by text NOT NULL,
    imported_at timestamptz NOT NULL,
    CONSTRAINT statement_files_once UNIQUE (channel, account, sha256)
);
COMMENT ON TABLE statement_files IS 'Statements of networks that operators imported.';
CREATE INDEX statement_files_by_end ON statement_files (channel, account, ends_at);

CREATE TABLE statement_lines (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file_id  text COLLATE "C" NOT NULL REFERENCES statement_files,
    row      integer NOT NULL, -- in that file
    channel  text NOT NULL,
    account  text NOT NULL,
    receipt  text COLLATE "C" NOT NULL, -- not unique: a payment and its fee share one
    moved_at timestamptz NOT NULL,
    amount   bigint NOT NULL, -- above 0 came in, below 0 went out
    kind     text NOT NULL CONSTRAINT statement_lines_kind
             CHECK (kind IN ('money', 'fee', 'sweep', 'bank', 'reversal', 'other')),
    nth      integer NOT NULL, -- of lines in one file that are equal in everything else
    key      text COLLATE "C" NOT NULL, -- our network key, '' if the network does not repeat it
    phone    text NOT NULL, -- as the file has it, often masked
    linked   text COLLATE "C" NOT NULL, -- the receipt that a reversal takes back
    balance  bigint,
    details  text NOT NULL,
    -- Files overlap; a line that is in two of them is one line.
    CONSTRAINT statement_lines_once UNIQUE (channel, account, receipt, moved_at, amount, kind, nth)
);
COMMENT ON TABLE statement_lines IS 'Lines of imported statements, each once however many files have it.';
CREATE INDEX statement_lines_of_file ON statement_lines (file_id);

CREATE TABLE statement_profiles (
    name     text COLLATE "C" PRIMARY KEY,
    text     text NOT NULL, -- TOML, as the profiles that come with malipo
    saved_by text NOT NULL,
    saved_at timestamptz NOT NULL
);
COMMENT ON TABLE statement_profiles IS 'How operators said that the statements of a network are to be read.';
