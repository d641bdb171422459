"""Roles, memberships and what they allow, each statement compared with PostgreSQL."""
