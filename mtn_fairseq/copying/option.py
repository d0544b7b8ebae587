"""`--copy-attention`, for all models that have it."""

from dataclasses import field


def copy_option() -> bool:
    """A field of a model's options."""
    return field(
        default=False,
        metadata={
            "help": "also copy words of the session, those that no dictionary has among them; in "
            "mtn by pointing at a query first, and then at a word of it"
        },
    )
