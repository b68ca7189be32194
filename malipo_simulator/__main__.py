import sys

from malipo_simulator.command import main

if __name__ == "__main__":
    sys.exit(main())
