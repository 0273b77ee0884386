"""Writing a release or a table: files of every format, frames, printed text, pictures and folders."""
