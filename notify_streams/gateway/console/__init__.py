"""The operators' console: pages drawn from live figures and recorded facts, each with a JSON twin."""
