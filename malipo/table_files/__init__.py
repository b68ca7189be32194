"""CSV and XLSX files and pictures from outside, read in a process of their own."""
