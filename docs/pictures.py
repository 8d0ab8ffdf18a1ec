"""Make the pictures of the pages: run their code here, where images/ is."""

import os
import re
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    os.environ.setdefault("MPLBACKEND", "agg")
    os.chdir(Path(__file__).parent)
    for page in sorted(Path().glob("*.md")):
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        if any("savefig(" in block and '"images/' in block for block in blocks):
            print(page)
            names: dict = {}
            for block in blocks:
                exec(compile(block, str(page), "exec"), names)


if __name__ == "__main__":
    main()
