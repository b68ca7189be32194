"""A bank: takes payout files, books them, returns money days later, and gives statements. Written from the formats'
own descriptions, without a look at how malipo writes and reads them."""
