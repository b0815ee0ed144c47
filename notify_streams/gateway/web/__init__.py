"""The inbox in a browser: a web component, the client under it, and a page that shows them."""
