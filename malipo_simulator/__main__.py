import sys

from malipo_simulator.cli import main

if __name__ == "__main__":
    sys.exit(main())
