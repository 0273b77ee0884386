"""Pages for people: a release as one self-contained HTML file, and the check of a record (`verify`)."""

from hedgerow.reports.release_page import add_report, release_document, report_html, write_report

__all__ = ["add_report", "release_document", "report_html", "write_report"]
