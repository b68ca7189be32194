"""The titles of the timeline's entries, by event. Written by hand; the tests are in test_timeline.py."""

# What a reader is told of each status, by its type.
STATUS_GRID = """
    COLLECTION    PENDING     calm  Taken in. It waits to be sent to M-Pesa.
    COLLECTION    PROCESSING  wait  On its way: M-Pesa asks the customer on their phone.
    COLLECTION    COMPLETED   good  Completed. The customer has paid.
    COLLECTION    FAILED      bad   Failed. The customer has not paid.
    COLLECTION    CANCELLED   calm  Cancelled. Nothing was sent, and the customer was not asked.
    DISBURSEMENT  PENDING     calm  Taken in. It waits to be sent to M-Pesa.
    DISBURSEMENT  PROCESSING  wait  On its way: M-Pesa is told to pay the recipient.
    DISBURSEMENT  COMPLETED   good  Completed. The recipient has the money.
    DISBURSEMENT  FAILED      bad   Failed. The recipient was not paid.
    DISBURSEMENT  CANCELLED   calm  Cancelled. Nothing was sent to M-Pesa.
"""

# And of each answer of a network, by the way we heard it.
HEARD_GRID = """
    send      confirmed  good  M-Pesa answered: the money has moved.
    send      refused    bad   M-Pesa answered: it refuses this payment.
    send      waiting    wait  M-Pesa has taken it, and has not decided yet.
    send      unknown    wait  No clear answer from M-Pesa. We assume nothing, and ask.
    send      missing    wait  No clear answer from M-Pesa. We assume nothing, and ask.
    send      not_indexed  wait  No clear answer from M-Pesa. We assume nothing, and ask.
    send      unsent     wait  M-Pesa could not be reached. Nothing was sent; we try again.
    ask       confirmed  good  We asked M-Pesa: the money has moved.
    ask       refused    bad   We asked M-Pesa: no money has moved, and none will.
    ask       waiting    wait  We asked M-Pesa: it has not decided yet.
    ask       unknown    wait  We asked M-Pesa, and got no clear answer. We ask again.
    ask       missing    wait  We asked M-Pesa: it does not know this payment.
    ask       not_indexed  wait  We asked M-Pesa: it does not find this payment, or not yet.
    ask       unsent     wait  We asked M-Pesa, and got no clear answer. We ask again.
    callback  confirmed  good  M-Pesa reported: the money has moved.
    callback  refused    bad   M-Pesa reported: no money has moved.
    callback  waiting    wait  M-Pesa reported: it has not decided yet.
    callback  unknown    wait  M-Pesa reported something unclear.
    callback  missing    wait  M-Pesa reported something unclear.
    callback  not_indexed  wait  M-Pesa reported something unclear.
    callback  unsent     wait  M-Pesa reported something unclear.
    statement  confirmed  good  The statement of M-Pesa has it: the money has moved.
    statement  refused    bad   The statement of M-Pesa shows that it was taken back.
    statement  waiting    wait  M-Pesa reported something unclear.
    statement  unknown    wait  M-Pesa reported something unclear.
    statement  missing    wait  M-Pesa reported something unclear.
    statement  not_indexed  wait  M-Pesa reported something unclear.
    statement  unsent     wait  M-Pesa reported something unclear.
"""

# And of each move of money.
BOOKED_GRID = """
    open           wallet     in_flight  calm  TZS 1,250 set aside in the wallet for this payout.
    end            in_flight  float      calm  TZS 1,250 paid out through M-Pesa.
    end            in_flight  fees       calm  TZS 1,250 charged as the fee.
    end            in_flight  wallet     calm  TZS 1,250 given back to the wallet.
    end            float      wallet     good  TZS 1,250 added to the wallet.
    end            float      fees       calm  TZS 1,250 charged as the fee.
    contradiction  losses     suspense   calm  TZS 1,250 comes from the service, and not from your wallet.
    contradiction  suspense   losses     calm  TZS 1,250 goes to the service, and not to your wallet.
    contradiction  suspense   fees       calm  The fee is booked: TZS 1,250.
    contradiction  fees       suspense   calm  The fee is taken back: TZS 1,250.
    resolution     suspense   wallet     good  Cleared up: TZS 1,250 added to the wallet.
    resolution     wallet     suspense   bad   Cleared up: TZS 1,250 taken from the wallet.
    resolution     losses     suspense   calm  TZS 1,250 comes from the service, and not from your wallet.
    resolution     suspense   losses     calm  TZS 1,250 goes to the service, and not to your wallet.
    resolution     suspense   fees       calm  The fee is booked: TZS 1,250.
    resolution     fees       suspense   calm  The fee is taken back: TZS 1,250.
    resolution     suspense   float      calm  Cleared up: it stays as it was, and your wallet too.
    resolution     float      suspense   calm  Cleared up: it stays as it was, and your wallet too.
"""

# And when a network says something else than before, of a payment of TZS 1,000 with a fee of TZS 30: what the merchant
# was told, what is said now, and whether that was said before and the wallet has followed.
LATER_GRID = """
    COLLECTION    FAILED     paid    due   good  M-Pesa now says that the customer has paid: TZS 970 belongs in your wallet.
    COLLECTION    CANCELLED  paid    due   good  M-Pesa now says that the customer has paid: TZS 970 belongs in your wallet.
    COLLECTION    COMPLETED  unpaid  due   bad   M-Pesa now says that the customer did not pay, or got it back: TZS 970 is owed.
    DISBURSEMENT  FAILED     paid    due   bad   M-Pesa now says that it was paid: TZS 1,030 is owed.
    DISBURSEMENT  CANCELLED  paid    due   bad   M-Pesa now says that it was paid: TZS 1,030 is owed.
    DISBURSEMENT  COMPLETED  unpaid  due   good  M-Pesa now says that it was not paid: TZS 1,030 belongs in your wallet.
    COLLECTION    FAILED     unpaid  even  calm  M-Pesa now says that the customer did not pay after all. Your wallet is right as it is.
    COLLECTION    COMPLETED  paid    even  good  M-Pesa now says that the customer has paid after all. Your wallet is right as it is.
    DISBURSEMENT  FAILED     unpaid  even  calm  M-Pesa now says that it was not paid after all. Your wallet is right as it is.
    DISBURSEMENT  COMPLETED  paid    even  calm  M-Pesa now says that it was paid after all. Your wallet is right as it is.
    COLLECTION    FAILED     unpaid  due   bad   M-Pesa now says that the customer did not pay, or got it back: TZS 970 is owed.
    COLLECTION    COMPLETED  paid    due   good  M-Pesa now says that the customer has paid: TZS 970 belongs in your wallet.
    DISBURSEMENT  FAILED     unpaid  due   good  M-Pesa now says that it was not paid: TZS 1,030 belongs in your wallet.
    DISBURSEMENT  COMPLETED  paid    due   bad   M-Pesa now says that it was paid: TZS 1,030 is owed.
"""
