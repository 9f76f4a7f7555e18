"""The client: servers whose tools are used here."""
