"""The served bundles, and loading new versions.

A request keeps the bundle it began with: an old version is freed when its last request ends.
"""

import hashlib
from collections import OrderedDict
from pathlib import Path
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence

from mtn_preprocess.errors import InputError

from ..bundle.folder import COUNTS, MODEL, RANKER
from ..bundle.samples import Sample, samples_of
from ..kept_folder import HEADER, kind_in
from ..next_queries import KIND as TABLE
from ..suggester import Suggester
from .held_files import FilesChanged, HeldFiles
from .schemas import Arm
from .settings import Settings
from .split import is_for_challenger

CHAMPION: Arm = "champion"
CHALLENGER: Arm = "challenger"
MANIFEST = "manifest.json"
_VERSION_LENGTH = 12


class Cache:
    """A cache of answers that evicts the least recently used one.

    Args:
        size: maximum number of answers; 0 for none
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable) -> Optional[Any]:
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: Hashable, answer: Any) -> None:
        self._answers[key] = answer
        while len(self._answers) > self.size:
            self._answers.popitem(last=False)


class ServedBundle(NamedTuple):
    arm: Arm
    version: str
    suggester: Suggester
    counts: Optional[Suggester]  # the same without the model and ranker, if time is short
    cache: Cache
    files: HeldFiles
    samples: Sequence[Sample] = ()  # sample sessions that the current rules allow


class Bundles(NamedTuple):
    """The champion, and the challenger if there is one."""

    served: Dict[Arm, ServedBundle]
    share: float

    def choose(self, session_id: Optional[str], wanted: Optional[Arm] = None) -> ServedBundle:
        """Choose the bundle for one session.

        Args:
            session_id: None for no id, which gives the champion
            wanted: the bundle that the request names, if any

        Raises:
            InputError: that bundle is not served
        """
        if wanted is not None:
            if wanted not in self.served:
                raise InputError(f"no {wanted} is served", f"ask one of {', '.join(self.served)}")
            return self.served[wanted]
        has_choice = CHALLENGER in self.served and session_id is not None
        if has_choice and is_for_challenger(str(session_id), self.share):
            return self.served[CHALLENGER]
        return self.served[CHAMPION]

    def have_changed(self) -> bool:
        """Whether somebody wrote into the files of a bundle."""
        try:
            for each in self.served.values():
                each.files.check()
        except FilesChanged:
            return True
        return False

    def __str__(self) -> str:
        return ", ".join(f"{each.arm} {each.version}" for each in self.served.values())


def load_bundles(settings: Settings) -> Bundles:
    """Load the bundles from their folders.

    Raises:
        InputError: a bundle is damaged, or a folder is not a bundle
    """
    folders: Dict[Arm, Path] = {CHAMPION: settings.bundle}
    if settings.challenger is not None:
        folders[CHALLENGER] = settings.challenger
    served = {arm: _load(arm, folder, settings) for arm, folder in folders.items()}
    return Bundles(served, settings.share)


def has_ranker(folder: Path) -> bool:
    """Whether its lists are ranked; other lists leave nothing out as unrelated."""
    return (folder / RANKER).is_dir()


def _load(arm: Arm, folder: Path, settings: Settings) -> ServedBundle:
    version = _version([*_checksum_files(folder), *_files(settings.block_list)])
    held = HeldFiles(_mapped_files(folder))
    if (folder / MANIFEST).is_file():
        suggester = Suggester.load(
            folder,
            block_list=settings.block_list,
            unrelated=settings.unrelated and has_ranker(folder),
            verify=True,
        )
    else:  # a table of counts alone
        _check_table(folder)
        suggester = Suggester.load(counts=folder, block_list=settings.block_list, verify=True)
    held.check_names()
    if suggester.bundle is not None and settings.block_list is None:
        version = suggester.bundle.version  # as mtn-bundle shows it
    counts = None
    if suggester.table is not None:
        counts = Suggester(suggester.table, rules=suggester.pipeline.display.rules)
    lines = [] if suggester.bundle is None else suggester.bundle.sample_lines()
    samples = samples_of(lines, suggester.pipeline)
    return ServedBundle(arm, version, suggester, counts, Cache(settings.cached), held, samples)


def _check_table(folder: Path) -> None:
    kind = kind_in(folder)
    if kind is not None and kind != TABLE.name:
        what = f"of kind {kind!r}, which cannot be served alone"
        raise InputError(what, "give a folder of mtn-export or mtn-count-next", folder)


def _checksum_files(folder: Path) -> List[Path]:
    """Files with the checksums of all other files: they change whenever another file does."""
    found = [folder / name for name in (MANIFEST, HEADER) if (folder / name).is_file()]
    if not found:
        raise InputError(
            f"no bundle: it has no {MANIFEST}", "give a folder that mtn-export wrote", folder
        )
    return found


def _mapped_files(folder: Path) -> List[Path]:
    """Files that are read while served: counts, in a bundle or alone, and weights."""
    folders = (folder / COUNTS, folder / MODEL) if (folder / MANIFEST).is_file() else (folder,)
    return sorted(
        path for each in folders for path in each.glob("*") if path.suffix in (".npy", ".weights")
    )


def _files(path: Optional[Path]) -> List[Path]:
    return [] if path is None else [path]


def _version(files: List[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
            raise InputError(reason, "check its name and permissions", path) from None
    return digest.hexdigest()[:_VERSION_LENGTH]
