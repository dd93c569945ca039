"""Draw the picture of the labelling page, docs/images/labelling.png; needs a Chromium.

    python -m tests.helpers.draw_labelling_page

Labels digits in a browser as a person would, and keeps the text of the page in the file, so that a
test notices when the page says something else.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from tests.helpers.devtools import Browser
from tests.helpers.labelling import Command, digits_pool
from tests.helpers.pages import find_browser

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "labelling.png"
WORDS = "page"  # under which the file keeps the text
N_LABELS = 60
SIZE = (1240, 800)  # pixels
ROW = "document.querySelector('#item')?.dataset.row"


def main():
    """Run the command and return its exit status."""
    program = find_browser()
    if program is None:
        print("error: there is no browser; see tools/install_chromium")
        return 1
    with TemporaryDirectory() as name, Browser(program) as browser:
        folder = Path(name)
        truth = digits_pool(folder / "digits.csv")
        command = Command(folder, "digits.csv", "--classes", ",".join("0123456789"))
        tab = browser.tab(command.address)
        tab.resize(*SIZE)
        while tab.js("Number(document.querySelector('#labels').textContent) || 0") < N_LABELS:
            row = tab.wait(f"{ROW} || null")
            tab.press(str(truth[int(row)]))
            tab.wait(f"{ROW} !== '{row}'")
            time.sleep(0.3)  # as a person: the model learns meanwhile
        learned = "document.querySelector('#interval').textContent.includes"
        tab.wait(f"{learned}('of {N_LABELS} labels')")
        tab.picture(folder / "page.png")
        words = PngInfo()
        words.add_itxt(WORDS, tab.text())
        Image.open(folder / "page.png").convert("RGB").save(PICTURE, pnginfo=words, optimize=True)
        command.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
