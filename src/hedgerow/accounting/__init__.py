"""Price: from a description of what ran to an upper bound on its privacy curve."""
