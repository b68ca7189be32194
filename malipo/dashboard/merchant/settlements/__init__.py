"""Pages of settlements: the balance on its way to the bank, its schedule, its reports, and the bank accounts."""
