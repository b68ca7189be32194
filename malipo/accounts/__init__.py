"""Log-in, passwords, tokens, second factors: of merchants' people and of operators."""
