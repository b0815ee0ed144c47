"""Push through the Apple Push Notification service."""
