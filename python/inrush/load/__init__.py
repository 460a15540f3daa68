"""The bulk loader: files → client → load server → shards (`inrush load`)."""
