"""Questions about documents, with conversation history and memories."""
