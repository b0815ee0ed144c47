"""What all mail providers share: mailboxes, headers, and the mail as bytes."""
