"""Push through Firebase Cloud Messaging."""
