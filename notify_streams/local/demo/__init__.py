"""An hour of a shop and a social app, as files to publish."""
