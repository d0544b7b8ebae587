"""Everything that the sections of a report read, loaded once."""

from typing import Dict, List, NamedTuple, Optional

from .manifest import Manifest, System
from .pictures import Style, styles
from .run_scores import Evaluations, read_evaluations
from .samples import SampleText, read_sample_text
from .trained_models import Size, size_of


class Inputs(NamedTuple):
    manifest: Manifest
    evaluations: Optional[Evaluations]
    sizes: Dict[str, Size]  # by label, for systems with a checkpoint
    looks: Dict[str, Style]
    text: SampleText

    def scored(self, *groups: str) -> List[System]:
        """Systems with scores: first the baselines, then these groups in the manifest's order."""
        if self.evaluations is None:
            return []
        found = [system for system in self.manifest.systems if self.evaluations.results(system)]
        baselines = [system for system in found if "yardstick" in system.groups]
        others = [s for s in found if s not in baselines and set(groups) & set(s.groups)]
        return baselines + others


def read_inputs(manifest: Manifest) -> Inputs:
    baselines = [system.label for system in manifest.of_group("yardstick")]
    models = [system.label for system in manifest.systems if system.label not in baselines]
    sizes = {}
    for system in manifest.systems:
        checkpoint, data = system.checkpoint(), system.data or manifest.data
        if checkpoint is not None and data is not None:
            sizes[system.label] = size_of(checkpoint, data)
    evaluations = read_evaluations(manifest)
    text = read_sample_text(manifest, evaluations)
    return Inputs(manifest, evaluations, sizes, styles(models, baselines), text)
