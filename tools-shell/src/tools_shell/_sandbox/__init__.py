"""How far a command is kept from the rest of the machine: what it sees, and which level holds."""
