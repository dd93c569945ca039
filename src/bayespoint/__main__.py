"""``python -m bayespoint`` is the command ``bayespoint``."""

from bayespoint.cli import main

if __name__ == "__main__":
    main()
