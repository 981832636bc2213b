"""`python -m recollect` is the command line."""

import sys

from recollect.doors.cli import main

sys.exit(main())
