-- Also right passwords without a code, and wrong codes, are counted by account and hour: what the audit log says of each.
-- The account of such a count begins with "code asked " or "code ".
ALTER TABLE failed_logins ADD COLUMN action text NOT NULL DEFAULT 'login.failed';
