"""`--copy-attention`, for all models that have it."""

from dataclasses import field


def copy_option() -> bool:
    """A field of a model's options."""
    return field(
        default=False,
        metadata={
            "help": "also copy words of the source, including out-of-vocabulary words; mtn points "
            "at a query first, then at a word of it; with three levels at a session before that"
        },
    )
