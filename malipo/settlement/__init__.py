"""Settlements: a merchant's balance is sent to its bank account. Files to the bank and its statements are in the room
above; here are accounts, settlements, schedules and reports."""
