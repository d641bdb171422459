"""Row level security: which policies apply to a role, and bound statements that obey them."""
