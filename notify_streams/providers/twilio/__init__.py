"""Text messages through Twilio."""
