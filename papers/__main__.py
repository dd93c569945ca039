"""``python -m papers``: repeat the experiments; see ``python -m papers --help``."""

from bayespoint.cli import main

if __name__ == "__main__":
    main("papers.command")
