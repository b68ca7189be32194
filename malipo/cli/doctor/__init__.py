"""malipo doctor: the going-live list, looked at."""
