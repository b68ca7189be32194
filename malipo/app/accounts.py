"""Accounts: the log-ins and sessions of merchants' people and of operators."""

from dataclasses import dataclass

from malipo.accounts.signed_cookies import Cookies
from malipo.merchants.invitations import Invitations
from malipo.merchants.login import Login
from malipo.merchants.sessions import Sessions
from malipo.operators.login import OperatorLogin
from malipo.rate_limit.in_process import RequestsOfPeople


@dataclass(frozen=True)
class Accounts:
    login: Login
    invitations: Invitations
    sessions: Sessions
    operators: OperatorLogin
    cookies: Cookies
    requests: RequestsOfPeople
