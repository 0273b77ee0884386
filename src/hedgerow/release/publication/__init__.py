"""How a release or a table leaves Python: what formats read of it, the formats, frames, text, folders."""
