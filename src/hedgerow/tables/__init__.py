"""Protected tables: contingency and magnitude tables, their margins and what a published table shows."""
