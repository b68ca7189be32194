"""malipo exceptions …: where statements and payments do not fit."""
