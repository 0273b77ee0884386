"""Pages for people: a release as one self-contained HTML file, and a record re-priced from itself alone."""

from hedgerow.reports.release_page import add_report, release_document, report_html, write_report

__all__ = ["add_report", "release_document", "report_html", "write_report"]
