"""`python -m malipo_client` is `malipo-client`."""

import sys

from malipo_client.cli import main

sys.exit(main())
