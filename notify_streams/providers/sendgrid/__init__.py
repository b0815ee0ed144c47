"""Mail through SendGrid (Web API v3)."""
