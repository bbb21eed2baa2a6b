"""Plans over rows that the driver already has: the catalog's relations, and constants.  See docs/design/007."""
