"""From the text of a query to sqlglot's tree."""
