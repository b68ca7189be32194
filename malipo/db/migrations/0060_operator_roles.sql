-- Serves: 0022
-- What an operator may do. Older processes know one role, and let everybody act: give the others when none runs any more.
ALTER TABLE operators ADD COLUMN role text NOT NULL DEFAULT 'manager'
    CHECK (role IN ('manager', 'support', 'auditor'));
COMMENT ON COLUMN operators.role IS 'What the operator may do: everything; help merchants; or read.';
