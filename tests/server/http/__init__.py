"""The HTTP door, asked over real loopback connections."""
