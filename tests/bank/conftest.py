from tests.bank.bank_desk import desk as desk
