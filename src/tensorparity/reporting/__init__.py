"""Facts are computed once; terminal, HTML and JSON only render them."""
