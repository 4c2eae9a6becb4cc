"""Views for readers that use the table without tidewheel."""
