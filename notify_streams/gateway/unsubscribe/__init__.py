"""The page and the one-click route behind the links in messages."""
