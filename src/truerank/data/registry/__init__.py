"""Published data sets: their layouts, downloads and checksums."""
