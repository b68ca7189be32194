"""Signed cookies of sessions and of customers, and the tokens of forms (CSRF) that are made from sessions. Pure."""

import hmac


class Cookies:
    """A browser's cookie contains the signed id of a session. A form contains a token that only this service can make.

    A cookie is valid as long as its session, which is looked up on every request.
    """

    def __init__(self, secret_key: str, *previous: str) -> None:
        self._keys = [
            hmac.digest(each.encode(), b"malipo dashboard cookie", "sha256") for each in (secret_key, *previous)
        ]

    def make(self, session_id: str) -> str:
        return f"{session_id}.{_mac(self._keys[0], 'cookie', session_id)}"

    def session_of(self, cookie: str) -> str | None:
        session_id, _, mac = cookie.partition(".")
        return session_id if self._is_ours("cookie", session_id, mac) else None

    def make_browser(self, token: str) -> str:
        return f"{token}.{_mac(self._keys[0], 'browser', token)}"

    def browser_of(self, cookie: str) -> str | None:
        """The token of a browser that has logged in before. It gives no access by itself."""
        token, _, mac = cookie.partition(".")
        return token if self._is_ours("browser", token, mac) else None

    def make_attempt(self, code: str, text: str) -> str:
        """The value of a customer's cookie: the payment that its browser has begun at the link with this code."""
        return f"{text}.{_mac(self._keys[0], f'attempt {code}', text)}"

    def attempt_of(self, code: str, cookie: str) -> str | None:
        text, _, mac = cookie.partition(".")
        return text if self._is_ours(f"attempt {code}", text, mac) else None

    def make_press_mark(self, code: str, text: str) -> str:
        """The mark in the address of a page after a press: when somebody has pressed at the link with this code."""
        return f"{text}.{_mac(self._keys[0], f'press {code}', text)}"

    def press_mark_of(self, code: str, mark: str) -> str | None:
        text, _, mac = mark.partition(".")
        return text if self._is_ours(f"press {code}", text, mac) else None

    def form_token(self, session_id: str) -> str:
        """The token in every form of a session, so that no other site can submit a form in its name."""
        return _mac(self._keys[0], "form", session_id)

    def is_form_token(self, session_id: str, token: str) -> bool:
        return self._is_ours("form", session_id, token)

    def _is_ours(self, purpose: str, session_id: str, mac: str) -> bool:
        return any(hmac.compare_digest(_mac(key, purpose, session_id).encode(), mac.encode()) for key in self._keys)


def _mac(key: bytes, purpose: str, session_id: str) -> str:
    return hmac.digest(key, f"{purpose} {session_id}".encode(), "sha256").hex()
