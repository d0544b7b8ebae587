"""Open what fairseq-preprocess wrote."""

from itertools import count
from pathlib import Path
from typing import Optional, Tuple

from fairseq.data import ConcatDataset, Dictionary, FairseqDataset, data_utils

from ..errors import InputError


def load_pairs(
    folder: str,
    split: str,
    languages: Tuple[str, str],
    dictionary: Dictionary,
    dataset_impl: Optional[str],
    combine: bool,
) -> Tuple[FairseqDataset, FairseqDataset]:
    """Both sides of a split, and of `split1`, `split2`, … behind it if these are to be combined."""
    sides: Tuple[list, list] = ([], [])
    for k in count():
        prefix = Path(folder) / f"{split}{k or ''}.{'-'.join(languages)}"
        datasets = [
            data_utils.load_indexed_dataset(f"{prefix}.{language}", dictionary, dataset_impl)
            for language in languages
        ]
        if None in datasets:
            break
        if len(datasets[0]) != len(datasets[1]):
            raise InputError(
                f"{len(datasets[0])} sessions but {len(datasets[1])} next queries",
                "line n of one text file must belong to line n of the other; prepare and binarise "
                "both again",
                f"{prefix}.{languages[0]}",
                min(map(len, datasets)) + 1,
            )
        for side, dataset in zip(sides, datasets):
            if dataset.supports_prefetch:  # `cached` knows no line before it was told of it
                dataset.prefetch(range(len(dataset)))
            side.append(dataset)
        if not combine:
            break
    if not sides[0]:
        raise InputError(
            f"no binarised {'-'.join(languages)} pairs", "run fairseq-preprocess first", prefix
        )
    source, target = (side[0] if len(side) == 1 else ConcatDataset(side) for side in sides)
    return source, target
