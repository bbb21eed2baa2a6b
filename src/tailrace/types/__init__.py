"""SQL types and what each outside world calls them."""
