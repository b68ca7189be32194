"""What the statements of our own bank accounts show: which of them count, which days they cover, and which debits are
perhaps of settlements. `bank` imports them, a layer above `settlement`, and both rooms ask here."""
