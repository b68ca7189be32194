"""Bank accounts of merchants and settlements: why something about them is not done."""

ACCOUNTS = {
    "bank_account_no_such": "There is no bank account {id}.",
    "bank_account_not_unverified": "This bank account does not wait for verification: it is {status}.",
    "bank_account_exists": "This bank account is there already.",
    "bank_account_too_many": "A business has at most {most} bank accounts at a time: stop one first.",
}

SETTLEMENTS = {
    "settlement_no_such": "There is no settlement or merchant {id}.",
    "settlement_wrong_status": "The settlement {id} is {status}: {what} cannot follow.",
    "settlement_in_a_file": "The settlement {id} is in a file to the bank.",
    "settlement_not_in_file": "The settlement {id} is not in this file.",
    "settlement_known_otherwise": "The bank's statement has said something else about the settlement {id} before.",
    "settlement_key_used": "Another settlement has this key: {id}.",
    "settlement_not_released": "The database was restored. Until statements of our bank accounts cover the lost time "
    "and two operators have released settlements, no file is approved or downloaded, and no transfer is noted as "
    "refused.",
    "settlement_not_compared": "The database was restarted or restored, and no worker has compared it with its mark "
    "yet. Until one has, no file is approved; try again in some seconds, while workers run.",
    "settlement_held": "Everything is held by {by}: {reason}. Until the hold ends, no file is approved or downloaded.",
    "settlement_not_covered": "Statements do not cover the days from {first} to {last} yet, of every bank account of "
    "ours. A day that may be a holiday needs one too, or stands in MALIPO_BANK_HOLIDAYS.",
    "settlement_no_payer_account": "No bank account of ours is known, and perhaps one was added in the lost time, and "
    "paid settlements. Add the account that settlements are paid from, and import its statements from {first} to "
    "{last}.",
    "settlement_nothing_to_release": "Settlements are released already, or the installation is still fenced.",
    "settlement_nothing_owed": "Nothing is owed of the settlement {id}, or the wallet has nothing of it.",
    "settlement_evidence": "Say what the evidence is, in 10 to 1,000 characters.",
}

SENTENCES = {**ACCOUNTS, **SETTLEMENTS}
