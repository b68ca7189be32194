"""The merchants' SQL, one file for each subject."""
