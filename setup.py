"""Packaging of mtn_fairseq. Metadata and run-time requirements are stated here only."""

from pathlib import Path

from setuptools import __version__ as setuptools_version
from setuptools import find_packages, setup

README = Path(__file__).parent / "README.md"
# Folders with their own package besides the plugin: `mtn_preprocess` in `preprocess/`, …
ROOMS = ["preprocess", "evaluation", "serving", "report", "sample_log"]
# serving/setup.py reads this too.
ABOUT = {
    "version": "0.1.0",
    "author": "The mtn_fairseq authors",
    "keywords": [
        "query suggestion",
        "query autocompletion",
        "search sessions",
        "hierarchical Transformer",
        "fairseq",
    ],
    "classifiers": [
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Topic :: Internet :: WWW/HTTP :: Indexing/Search",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    "project_urls": {
        "Paper": "https://arxiv.org/abs/1908.10408",
        "fairseq": "https://github.com/facebookresearch/fairseq",
    },
}
# Python 3.8 ends at setuptools 75, which has no licence expressions.
LICENCE_FIELD = "license_expression" if int(setuptools_version.split(".")[0]) >= 77 else "license"

setup(
    **ABOUT,
    **{LICENCE_FIELD: "MIT"},
    name="mtn_fairseq",
    description="Multiresolution Transformer Networks for query suggestion, as a fairseq plugin",
    long_description=README.read_text(encoding="utf-8") if README.exists() else "",
    long_description_content_type="text/markdown",
    python_requires=">=3.8",
    packages=[
        *find_packages(include=["mtn_fairseq", "mtn_fairseq.*"]),
        *(package for room in ROOMS for package in find_packages(room)),
    ],
    package_dir={f"mtn_{room}": f"{room}/mtn_{room}" for room in ROOMS},
    package_data={"": ["py.typed"], "mtn_serving": ["explicit_words.txt", "page/*"]},
    install_requires=[
        # Upstream fairseq cannot be imported on Python 3.11 and later; fairseq-fixed provides the
        # same `fairseq` module there.
        'fairseq==0.12.2; python_version < "3.11"',
        'fairseq-fixed==0.12.3.1; python_version >= "3.11"',
        # Upstream fairseq still uses np.float and np.int, which numpy 1.24 removed.
        'numpy>=1.21.3,<1.24; python_version < "3.11"',
        'numpy>=1.23.2; python_version >= "3.11"',
        # On Python 3.9, onnxruntime and onnx end at 1.19; on Python 3.8, serving needs torch.
        'onnx>=1.16; python_version >= "3.9"',
        'onnxruntime>=1.19; python_version >= "3.9"',
        "sacrebleu>=2.0",
        "sentencepiece>=0.1.97",
        "torch>=1.12",
    ],
    extras_require={
        "dev": [
            "build",
            "filelock",
            'httpx2; python_version >= "3.10"',  # for the test client
            "hypothesis",
            "mypy",
            "pre-commit",
            "psutil",
            "pytest",
            "pytest-cov",
            "pytest-xdist",
            "ruff",
            'schemathesis; python_version >= "3.10"',
        ],
        "preprocess": ["duckdb>=1.5", "pyarrow>=15", "tqdm"],
        # Spark needs pandas to return Arrow batches.
        "spark": ["pandas>=2.2", "pyarrow>=18", "pyspark>=4.0", "tqdm"],
        "ranker": ["lightgbm>=4.0"],
        "report": ["matplotlib>=3.7"],
        # httptools parses requests in C; uvicorn uses it if it is installed.
        "serve": ["fastapi>=0.115", "httptools", "prometheus-client>=0.20", "uvicorn>=0.30"],
        # For the site, and for the notebook that the tests run.
        "docs": ["ipykernel", "matplotlib>=3.7", "mkdocs-material>=9.5", "nbclient"],
        "bench": [
            'ctranslate2>=4.6; python_version >= "3.9"',
            "matplotlib",
            "pandas>=2.2",
            "psutil",
        ],
    },
    entry_points={
        "console_scripts": [
            "mtn-architectures = mtn_report.architectures:main",
            "mtn-bundle = mtn_serving.commands.bundle:main",
            "mtn-check-text = mtn_preprocess.commands.check_text:main",
            "mtn-complete = mtn_serving.commands.complete:main",
            "mtn-count-next = mtn_serving.commands.count_next:main",
            "mtn-evaluate = mtn_evaluation.commands.evaluate:main",
            "mtn-events = mtn_serving.commands.events:main",
            "mtn-export = mtn_serving.commands.export:main",
            "mtn-fit-ranker = mtn_serving.commands.fit_ranker:main",
            "mtn-judge = mtn_evaluation.commands.judge:main",
            "mtn-log-to-sessions = mtn_preprocess.log_to_sessions:main",
            "mtn-report = mtn_report.command:main",
            "mtn-sample-log = mtn_sample_log.cli:main",
            "mtn-serve = mtn_serving.commands.serve:main",
            "mtn-suggest = mtn_serving.commands.suggest:main",
            "mtn-user-dir = mtn_preprocess.commands.user_dir:main",
            "mtn-yardstick = mtn_serving.commands.yardstick:main",
        ],
    },
    zip_safe=False,  # fairseq's --user-dir needs a real folder
)
