-- Serves: 0022
-- The holidays of banks that the government has declared, as the service was told at its start. Commands read them: a command whose
-- environment lacks one would void a file before the bank has booked it. Older processes leave them as they are.

ALTER TABLE operator_limits ADD COLUMN bank_holidays date[] NOT NULL DEFAULT '{}'; -- MALIPO_BANK_HOLIDAYS
COMMENT ON COLUMN operator_limits.bank_holidays IS
    'Days on which banks are closed besides weekends and public holidays. No wait counts them, and no statement is asked for them.';
