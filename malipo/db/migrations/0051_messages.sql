-- Serves: 0022
-- Messages to people by e-mail. Older processes write and send none.

-- In which language a person or an operator gets messages; none: in that of the installation. Operators have a name and
-- no address, until one of them enters it.
ALTER TABLE people ADD COLUMN language text CHECK (language IN ('en', 'sw'));
ALTER TABLE operators ADD COLUMN language text CHECK (language IN ('en', 'sw')), ADD COLUMN email text;

-- A message to one address, written in the commit of its cause. Address, name and facts are those of that moment: a
-- notice about a bank account reaches an owner who was removed after it.
CREATE TABLE messages (
    id          text COLLATE "C" PRIMARY KEY, -- the left half of its Message-ID
    kind        text NOT NULL, -- as in malipo/messages/kinds.py
    merchant_id text COLLATE "C", -- whose people it is for; none: it is for an operator
    account_id  text COLLATE "C" NOT NULL, -- of the person (per_…) or the operator (opr_…)
    address     text NOT NULL,
    name        text NOT NULL,
    language    text, -- none: that of the installation
    facts       json NOT NULL, -- what its sentences say. Never a secret
    cause       text, -- what it is about: at most one message of a kind and cause to an address
    is_grouped  boolean NOT NULL, -- until it is sent for the first time, more of its kind is counted into it
    count       integer NOT NULL DEFAULT 1, -- how many things it reports
    amount      bigint NOT NULL DEFAULT 0, -- their sum
    epoch       bigint NOT NULL, -- of the installation. While it is fenced, those of an earlier epoch wait
    created_at  timestamptz NOT NULL,
    due_at      timestamptz NOT NULL, -- not before; while it is being sent: until when no other worker sends it
    expires_at  timestamptz NOT NULL, -- not after: it would be out of date
    message_id  text, -- its Message-ID. None: no worker has begun to send it
    attempts    integer NOT NULL DEFAULT 0, -- answers of the mail server that asked for another try
    state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'refused', 'expired', 'dropped')),
    ended_at    timestamptz,
    reply       text, -- what the mail server, or the attempt to reach it, said last
    CONSTRAINT messages_end_once CHECK ((state = 'waiting') = (ended_at IS NULL)),
    CONSTRAINT messages_one_for_a_cause UNIQUE (kind, cause, address)
);
COMMENT ON TABLE messages IS 'A message to one person or operator, sent by e-mail.';
CREATE INDEX messages_due ON messages (due_at) WHERE state = 'waiting';
CREATE UNIQUE INDEX messages_gathering ON messages (kind, account_id)
    WHERE is_grouped AND state = 'waiting' AND message_id IS NULL;
CREATE INDEX messages_of_address ON messages (address, created_at);
CREATE INDEX messages_of_merchant ON messages (merchant_id, created_at);
CREATE INDEX messages_ended ON messages (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX messages_refused ON messages (ended_at) WHERE state = 'refused';

-- What a person or an operator has chosen about a kind of message. Without a row it is as the kind says.
CREATE TABLE message_choices (
    account_id text COLLATE "C" NOT NULL, -- of a person or of an operator
    kind       text NOT NULL,
    is_wanted  boolean NOT NULL,
    amount     bigint CHECK (amount > 0), -- of wallet_low: below which
    is_below   boolean NOT NULL DEFAULT false, -- of wallet_low: it was told, and the wallet has not been above since
    PRIMARY KEY (account_id, kind)
);
COMMENT ON TABLE message_choices IS 'Which messages a person or an operator wants.';
CREATE INDEX message_choices_of_kind ON message_choices (kind) WHERE is_wanted;

-- People who have been owners, for notices about bank accounts, which go to the owners of the last 30 days.
CREATE TABLE former_owners (
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    account_id  text COLLATE "C" NOT NULL, -- of a person, who may have been removed
    email       text NOT NULL,
    name        text NOT NULL,
    language    text,
    until       timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, account_id)
);
COMMENT ON TABLE former_owners IS 'Who was an owner of a merchant, and until when.';

-- A link that was sent in a message. Each attempt to send the message makes another, and all of them work until one is
-- used, since nobody knows which attempt has arrived.
ALTER TABLE password_links ADD COLUMN message_id text COLLATE "C"; -- of `messages`; none: its maker handed it over
