"""Pages of merchants' settlements and bank accounts, for operators."""
