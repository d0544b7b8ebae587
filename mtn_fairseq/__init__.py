"""Session-aware query suggestion for fairseq. Importing this registers everything."""

from . import compat

compat.allow_plain_types_in_checkpoints()
compat.import_fairseq_quietly()

from .models import mtn  # noqa: E402, F401
from .tasks import session_to_query  # noqa: E402, F401
