"""`ask-tools chat`: a conversation with an agent in the terminal."""
