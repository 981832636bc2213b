"""What memory has for a question, and the query vocabulary made of it."""
