"""Open the files that fairseq-preprocess wrote."""

import os
from itertools import count
from pathlib import Path
from typing import Optional, Tuple

from fairseq.data import ConcatDataset, Dictionary, FairseqDataset, data_utils, indexed_dataset

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_checks import check_pairs

from .binarised_checks import check_files, check_tokens


def load_pairs(
    folder: str,
    split: str,
    languages: Tuple[str, str],
    dictionary: Dictionary,
    dataset_impl: Optional[str],
    combine: bool,
) -> Tuple[FairseqDataset, FairseqDataset]:
    """Source and target of a split; with `combine`, of `split1`, `split2`, … after it, too."""
    sides: Tuple[list, list] = ([], [])
    for k in count():
        prefix = Path(folder) / f"{split}{k or ''}.{'-'.join(languages)}"
        _check_files(str(prefix), languages, dataset_impl)
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
        for side, dataset, language in zip(sides, datasets, languages):
            if dataset.supports_prefetch:  # `cached` can only read lines that were prefetched
                dataset.prefetch(range(len(dataset)))
            check_tokens(dataset, dictionary, f"{prefix}.{language}")
            side.append(dataset)
        if not combine:
            break
    if not sides[0]:
        raise InputError(
            f"no binarised {'-'.join(languages)} pairs", "run fairseq-preprocess first", prefix
        )
    source, target = (side[0] if len(side) == 1 else ConcatDataset(side) for side in sides)
    return source, target


def _check_files(prefix: str, languages: Tuple[str, str], dataset_impl: Optional[str]) -> None:
    """Check the files that exist; `--dataset-impl raw` reads text."""
    paths = [f"{prefix}.{language}" for language in languages]
    if dataset_impl in (None, "raw") and all(map(os.path.isfile, paths)):
        check_pairs(prefix, *languages)
        return
    for path in filter(indexed_dataset.IndexedDataset.exists, paths):
        check_files(path, dataset_impl)
