"""Commands that docs, examples and errors tell people to type: they work in any folder."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        ROOT / "README.md",
        *(
            path
            for folder in (
                "docs",
                "evaluation",
                "examples",
                "experiments",
                "mtn_fairseq",
                "preprocess",
                "report",
                "sample_log",
                "serving",
            )
            for path in sorted((ROOT / folder).rglob("*"))
        ),
    )
    if path.suffix in (".md", ".py", ".sh", ".sbatch", ".yaml")
}
# A folder that is found in the clone only, and a package that no index has.
BROKEN = re.compile(r"""user[-_]dir[ =](\$PWD/)?mtn_fairseq|pip install ['"]?mtn[-_]fairseq""")


def test_no_command_needs_the_clone_or_finds_nothing():
    assert len(TEXTS) > 100
    assert not [name for name, text in TEXTS.items() if BROKEN.search(text)]


def test_what_is_to_be_installed_is_what_setup_requires():
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    lines = [line for text in TEXTS.values() for line in text.splitlines() if "pip install" in line]
    told = {package for line in lines for package in re.findall(r"'([\w-]+>=[\d.]+)'", line)}
    assert len(told) == 7 and all(f'"{package}"' in setup for package in told), told
