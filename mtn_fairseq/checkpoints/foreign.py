"""Report in one line why a checkpoint does not fit, instead of pages of missing keys."""

from typing import Mapping

from torch import Tensor, nn


def refuse_foreign_checkpoint(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Stop if `state` was not saved by a model like this one.

    It raises a plain `SystemExit`, because fairseq's trainer catches every `Exception` here and
    would hide the message in a traceback.
    """
    ours = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    missing = sorted(set(ours) - set(state))
    # Buffers ("version", …) differ between fairseq versions, so only weights are compared.
    foreign = sorted(
        n for n in set(state) - set(model.state_dict()) if n.endswith(("weight", "bias"))
    )
    if missing or foreign:
        example = f"it has no {missing[0]}" if missing else f"{foreign[0]} is foreign here"
        raise SystemExit(
            f"checkpoint of another architecture: {example} ({len(missing)} weights missing, "
            f"{len(foreign)} foreign); pass the --arch and the sizes it was trained with, or "
            "another --restore-file or --save-dir"
        )
    for name, shape in ours.items():
        found = tuple(state[name].shape)
        if found != shape:
            dictionary = "embed_tokens" in name or "output_projection" in name
            remedy = (
                "use the data folder (dictionary) it was trained with"
                if dictionary
                else "pass the sizes it was trained with, or another --restore-file or --save-dir"
            )
            raise SystemExit(
                f"checkpoint of another size: {name} is {found} in it, {shape} here; {remedy}"
            )
