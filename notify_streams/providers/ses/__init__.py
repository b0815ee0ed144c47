"""Mail through Amazon SES (API v2)."""
