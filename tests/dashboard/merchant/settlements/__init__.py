"""Pages of settlements, of their schedule and of bank accounts."""
