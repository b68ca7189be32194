-- Serves: 0022
-- Invoices of fees with VAT, and credit notes. Older processes issue none. Their ledger check then reports an account and
-- bookings that it does not know. Each list has the words of the one before it, so no row need be read again.

CREATE TABLE vat_rates (
    begins_on    date PRIMARY KEY,
    basis_points integer NOT NULL CHECK (basis_points BETWEEN 0 AND 10000), -- 1800 is 18 %
    set_by       text NOT NULL,
    set_at       timestamptz NOT NULL
);
COMMENT ON TABLE vat_rates IS 'Rates of VAT, each from the day on which it begins.';

CREATE TABLE invoice_buyers (
    merchant_id text COLLATE "C" PRIMARY KEY REFERENCES merchants,
    name        text NOT NULL, -- the legal name
    address     text NOT NULL,
    tin         text NOT NULL, -- nine digits, or ''
    vrn         text NOT NULL,
    changed_by  text NOT NULL,
    changed_at  timestamptz NOT NULL
);
COMMENT ON TABLE invoice_buyers IS 'What invoices say of merchants.';

CREATE TABLE invoice_counters (
    series text COLLATE "C" NOT NULL,
    year   integer NOT NULL,
    last   integer NOT NULL,
    PRIMARY KEY (series, year)
);
COMMENT ON TABLE invoice_counters IS 'The last number of each series of invoices and year. A restored database has a new series.';

CREATE TABLE invoices (
    number        text COLLATE "C" PRIMARY KEY,
    series        text COLLATE "C" NOT NULL,
    year          integer NOT NULL,
    ordinal       integer NOT NULL,
    kind          text NOT NULL CONSTRAINT invoices_kind CHECK (kind IN ('invoice', 'credit_note')),
    merchant_id   text COLLATE "C" NOT NULL REFERENCES merchants,
    month         date NOT NULL CONSTRAINT invoices_month CHECK (extract(day FROM month) = 1), -- whose fees it has
    corrects      text COLLATE "C" REFERENCES invoices, -- of a credit note
    seller        json NOT NULL,
    buyer         json NOT NULL,
    lines         json NOT NULL,
    gross         bigint NOT NULL CHECK (gross > 0),
    vat           bigint NOT NULL CHECK (vat >= 0),
    booking_id    text COLLATE "C" REFERENCES house_bookings, -- moves the VAT out of fees, or back
    issued_by     text NOT NULL,
    issued_at     timestamptz NOT NULL,
    fiscal_number text, -- of the fiscal device
    CONSTRAINT invoices_number UNIQUE (series, year, ordinal),
    CONSTRAINT invoices_have_vat_booked CHECK ((vat > 0) = (booking_id IS NOT NULL)),
    CONSTRAINT invoices_corrects CHECK (corrects IS NULL OR kind = 'credit_note')
);
COMMENT ON TABLE invoices IS 'Invoices of fees, and credit notes. They never change; only the fiscal number is added once.';
CREATE UNIQUE INDEX invoices_of_month ON invoices (merchant_id, month) WHERE kind = 'invoice';
CREATE UNIQUE INDEX invoices_credit_of_month ON invoices (merchant_id, month, coalesce(corrects, '')) WHERE kind = 'credit_note';
CREATE INDEX invoices_by_time ON invoices (issued_at);

ALTER TABLE house_bookings
    DROP CONSTRAINT house_bookings_kind, ADD CONSTRAINT house_bookings_kind
        CHECK (kind IN ('bank_transfer', 'network_fee', 'sweep', 'line', 'rounding', 'opening_balance', 'capital', 'interest',
                        'other_income', 'bank_charge', 'tax', 'undo', 'bank_line', 'vat', 'vat_payment')) NOT VALID,
    DROP CONSTRAINT house_bookings_between_accounts_of_the_house, ADD CONSTRAINT house_bookings_between_accounts_of_the_house CHECK (
        source IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding', 'equity', 'interest',
                   'other_income', 'bank_charges', 'taxes', 'vat')
        AND target IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding', 'equity', 'interest',
                       'other_income', 'bank_charges', 'taxes', 'vat') AND source <> target) NOT VALID;
CREATE UNIQUE INDEX house_bookings_of_vat ON house_bookings (kind, reference, ordinal) WHERE kind IN ('vat', 'vat_payment');
ALTER TABLE moves DROP CONSTRAINT moves_go_between_known_accounts, ADD CONSTRAINT moves_go_between_known_accounts CHECK (
    source IN ('wallet', 'in_flight', 'in_settlement', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding',
               'equity', 'interest', 'other_income', 'bank_charges', 'taxes', 'vat')
    AND target IN ('wallet', 'in_flight', 'in_settlement', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees',
                   'rounding', 'equity', 'interest', 'other_income', 'bank_charges', 'taxes', 'vat')) NOT VALID;
