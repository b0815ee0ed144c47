"""Push through the push services of browsers."""
