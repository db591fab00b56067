"""truerank."""
