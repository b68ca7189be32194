"""Who looks after a case or an exception and until when, and the files about it. None of it moves money."""
