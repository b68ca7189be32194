-- Serves: 0022
-- Money of the house at its bank: interest, charges, other income, taxes, opening balances, and what the owners put in or take
-- out. Older processes book none of it. Their ledger check then reports accounts and bookings that it does not know.
-- Each list has the words of the one before it, so no row need be read again. (`in_settlement` is for settlements.)
ALTER TABLE house_bookings
    DROP CONSTRAINT house_bookings_kind, ADD CONSTRAINT house_bookings_kind
        CHECK (kind IN ('bank_transfer', 'network_fee', 'sweep', 'line', 'rounding', 'opening_balance', 'capital',
                        'interest', 'other_income', 'bank_charge', 'tax', 'undo')) NOT VALID,
    DROP CONSTRAINT house_bookings_between_accounts_of_the_house, ADD CONSTRAINT house_bookings_between_accounts_of_the_house CHECK (
        source IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding', 'equity', 'interest',
                   'other_income', 'bank_charges', 'taxes')
        AND target IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding', 'equity', 'interest',
                       'other_income', 'bank_charges', 'taxes') AND source <> target) NOT VALID;
-- One of each kind and reference that is not undone.
CREATE UNIQUE INDEX house_bookings_at_bank ON house_bookings (kind, reference, ordinal)
    WHERE kind IN ('opening_balance', 'capital', 'interest', 'other_income', 'bank_charge', 'tax');
ALTER TABLE moves DROP CONSTRAINT moves_go_between_known_accounts, ADD CONSTRAINT moves_go_between_known_accounts CHECK (
    source IN ('wallet', 'in_flight', 'in_settlement', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding',
               'equity', 'interest', 'other_income', 'bank_charges', 'taxes')
    AND target IN ('wallet', 'in_flight', 'in_settlement', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees',
                   'rounding', 'equity', 'interest', 'other_income', 'bank_charges', 'taxes')) NOT VALID;
