"""What protects a data directory from its own damage: refusal to open, verification, and rebuilding of the catalog."""
