"""Settlements: a merchant's balance is sent to its bank account.

Here are merchants' bank accounts, settlements, schedules and reports. Files to the bank and its statements are in
`bank`, a layer above.
"""
