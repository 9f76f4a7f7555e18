"""A backend of `keyring`, as a system has one: the passwords are in a file of the test's folder."""

import json
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class Keyring(KeyringBackend):
    priority = 5
    path = Path("keyring.json")

    def _read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def get_password(self, service, username):
        return self._read().get(f"{service} {username}")

    def set_password(self, service, username, password):
        self.path.write_text(json.dumps({**self._read(), f"{service} {username}": password}))

    def delete_password(self, service, username):
        passwords = self._read()
        if passwords.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError
        self.path.write_text(json.dumps(passwords))
