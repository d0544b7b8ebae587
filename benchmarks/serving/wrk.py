"""The same closed loops by `wrk`, a client that others wrote: does it see the same figures?"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, List

SCRIPT = Path(__file__).with_name("wrk.lua")


def is_installed() -> bool:
    return shutil.which("wrk") is not None


def closed_loop(
    address: str, route: str, bodies: List[Dict[str, Any]], clients: int, seconds: float
) -> Dict[str, float]:
    """p50, p95, p99 in milliseconds, per_second, errors."""
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "bodies"
        asked.write_text("".join(f"{json.dumps(body)}\n" for body in bodies), encoding="utf-8")
        whole = max(1, round(seconds))
        loop = f"--threads 1 --connections {clients} --duration {whole}s --timeout 30s"
        command = ["wrk", *loop.split(), "--script", str(SCRIPT), f"{address}v1/{route}"]
        said = subprocess.check_output([*command, "--", str(asked)], text=True)
    return json.loads(said.splitlines()[-1])
