"""The HTTP API. A route parses the request, calls one verb of the engine or of an application, and returns a value."""
