"""What functions and operators there are: one small table a family, one line a function."""
