"""Open a bundle, part by part."""

from pathlib import Path
from typing import List, Optional, Union

from mtn_preprocess.errors import InputError

from ..completion.ranker import CompletionRanker
from ..display_rules import DisplayRules
from ..engine import Engine
from ..next_queries import NextQueries
from ..ranker import Ranker
from .manifest import Manifest, check_files, read_manifest
from .rules import read_bundle_rules
from .samples import NAME as SAMPLES_FILE
from .samples import read_sample_lines

MODEL, COUNTS, RANKER, COMPLETION, RULES, SAMPLES = PARTS = (
    "model",
    "next-queries",
    "ranker",
    "completion-ranker",
    "rules",
    "samples",
)


class Bundle:
    """One version of a bundle.

    Args:
        folder: of the bundle
        manifest: its manifest
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.parts = tuple(
            part for part in PARTS if any(name.startswith(f"{part}/") for name in manifest["files"])
        )

    @classmethod
    def open(cls, folder: Union[str, Path], verify: bool = True) -> "Bundle":
        """Open a bundle; refuse one that changed after mtn-export wrote it.

        Args:
            verify: whether to read the whole table of counts, too, which may be large; otherwise
                each lookup checks what it reads
        """
        folder = Path(folder)
        manifest = read_manifest(folder)
        large = f"{COUNTS}/"
        check_files(folder, manifest, lambda name: verify or not name.startswith(large))
        return cls(folder, manifest)

    @property
    def version(self) -> str:
        """A hash of the content."""
        return self.manifest["sha256"][:12]

    def is_current(self) -> bool:
        """Whether the folder still has this version."""
        try:
            return read_manifest(self.folder)["sha256"] == self.manifest["sha256"]
        except InputError:
            return False

    def table(self) -> Optional[NextQueries]:
        return NextQueries.open(self.folder / COUNTS) if COUNTS in self.parts else None

    def engine(self, threads: int = 1) -> Optional[Engine]:
        """Lazy import: counts alone do not need ONNX Runtime.

        Args:
            threads: per request
        """
        if MODEL not in self.parts:
            return None
        from ..onnx_engine.exported_model import ExportedModel

        return ExportedModel.load(self.folder / MODEL, threads)

    def ranker(self) -> Optional[Ranker]:
        return Ranker.load(self.folder / RANKER) if RANKER in self.parts else None

    def completion_ranker(self) -> Optional[CompletionRanker]:
        if COMPLETION not in self.parts:
            return None
        return CompletionRanker.load(self.folder / COMPLETION)

    def rules(self) -> DisplayRules:
        return read_bundle_rules(self.folder / RULES)

    def sample_lines(self) -> List[str]:
        """Sample sessions, as in prepared text."""
        return read_sample_lines(self.samples_file) if SAMPLES in self.parts else []

    @property
    def samples_file(self) -> Path:
        return self.folder / SAMPLES / SAMPLES_FILE
