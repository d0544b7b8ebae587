"""Packaging of `mtn_serving`: suggestions from a bundle, without torch, fairseq or a compiler.

`pip install ./serving` packs three rooms of the project and installs numpy, onnxruntime and
sentencepiece. `pip install .`, the whole project, has the same files: install only one of the two
in an environment.
"""

import ast
from pathlib import Path

from setuptools import __version__ as setuptools_version
from setuptools import find_packages, setup

ROOMS = ["preprocess", "evaluation", "serving"]
PROJECT = (Path(__file__).resolve().parents[1] / "setup.py").read_text(encoding="utf-8")
# The value of ABOUT there: importing the file would run its setup().
(ABOUT,) = (
    ast.literal_eval(line.value)
    for line in ast.parse(PROJECT).body
    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "ABOUT"
)
LICENCE_FIELD = "license_expression" if int(setuptools_version.split(".")[0]) >= 77 else "license"

setup(
    **ABOUT,
    **{LICENCE_FIELD: "MIT"},
    name="mtn_serving",
    description="Query suggestions from a bundle of mtn_fairseq: numpy and onnxruntime, no torch",
    python_requires=">=3.9",
    packages=[package for room in ROOMS for package in find_packages(f"../{room}")],
    package_dir={f"mtn_{room}": f"../{room}/mtn_{room}" for room in ROOMS},
    package_data={"": ["py.typed"], "mtn_serving": ["explicit_words.txt", "page/*"]},
    install_requires=["numpy>=1.21.3", "onnxruntime>=1.19", "sentencepiece>=0.1.97"],
    extras_require={
        "evaluate": ["sacrebleu>=2.0"],
        "serve": ["fastapi>=0.115", "httptools", "prometheus-client>=0.20", "uvicorn>=0.30"],
    },
    entry_points={
        "console_scripts": [
            "mtn-bundle = mtn_serving.commands.bundle:main",
            "mtn-complete = mtn_serving.commands.complete:main",
            "mtn-count-next = mtn_serving.commands.count_next:main",
            "mtn-events = mtn_serving.commands.events:main",
            "mtn-export = mtn_serving.commands.export:main",
            "mtn-serve = mtn_serving.commands.serve:main",
            "mtn-suggest = mtn_serving.commands.suggest:main",
        ],
    },
)
