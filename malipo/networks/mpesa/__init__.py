"""M-Pesa of Vodacom."""
