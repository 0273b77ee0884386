"""What is asked for, checked before anything is priced."""
