"""The MCP door, spoken to by the official client: over real pipes and over a real loopback server."""
