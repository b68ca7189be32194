-- Serves: 0022
-- The limits of operators, as the service runs with them. Commands read them: their own environment could name a larger amount.
CREATE TABLE operator_limits (
    is_only                 boolean PRIMARY KEY DEFAULT true CHECK (is_only), -- one row
    booking_approval_amount bigint NOT NULL CHECK (booking_approval_amount >= 0), -- MALIPO_BOOKING_APPROVAL_AMOUNT
    second_factor           text NOT NULL CHECK (second_factor IN ('required', 'optional')), -- MALIPO_OPERATOR_SECOND_FACTOR
    noted_at                timestamptz NOT NULL
);
COMMENT ON TABLE operator_limits IS 'One row: the limits of operators that the service last began with. Commands may be stricter, never laxer.';
