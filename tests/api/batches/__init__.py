"""/v1/payments/disburse/batches."""
