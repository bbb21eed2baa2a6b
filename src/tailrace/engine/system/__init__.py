"""The catalog, statuses and statistics as relations one can SELECT from."""
