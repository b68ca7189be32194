"""`python -m malipo` is the malipo command."""

from malipo.cli import main

if __name__ == "__main__":
    main()
