"""CSV and XLSX files from outside, read in a process of their own."""
