"""The snippets of docs/serving.md: nginx is run in front of a server, the others are parsed."""

import configparser
import os
import re
import shlex
import shutil
import socket
import subprocess
import time

import pytest
import yaml
from processes import ROOT
from served import Server, save_table, served

from mtn_serving.commands.serve import _parser
from mtn_serving.service.app import admin, public

DOCS = (ROOT / "docs/serving.md").read_text(encoding="utf-8")
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


def snippet(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)
    return found


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_behind_nginx(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    save_table(tmp_path / "table")
    with served(tmp_path, f"{tmp_path}/table") as server:
        sites = snippet("nginx").replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
        sites = sites.replace("listen 80;", f"listen 127.0.0.1:{port};")
        paths = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"pid {tmp_path}/pid; error_log {tmp_path}/error.log; daemon off; worker_processes 1;"
            f"events {{}} http {{ access_log {tmp_path}/access.log; {paths} {sites} }}"
        )
        nginx = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])
        try:
            front = Server.__new__(Server)
            front.host, front.port = "127.0.0.1", port
            server.wait_until(lambda: _is_open(port))
            status, answer = front.suggest("paris")
            assert status == 200 and answer["suggestions"][0]["text"] == "paris hotels"
            assert front.ask("/v1/suggest?q=paris")[0] == 200
            assert "<!doctype html>" in front.ask("/")[1].lower()
            for path in ("/admin/reload", "/metrics"):
                assert front.ask(path)[0] == 404
            assert front.ask("/v1/suggest", {"session": ["x" * 400] * 1000})[0] == 413
            # A forgotten `location` gives no access either: a proxied request is not local.
            assert server.ask("/admin/reload", {}, **{"X-Forwarded-For": "192.0.2.1"})[0] == 403
            assert not (tmp_path / "access.log").read_text().count("paris")
        finally:
            nginx.terminate()
            nginx.wait(timeout=30)


def _is_open(port):
    with socket.socket() as sock:
        time.sleep(0.05)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def test_figures_are_those_of_the_benchmark():
    """As `load.py` wrote them, nothing by hand."""
    _, shown, _ = re.split(r"<!-- figures: (?:begin|end) -->\n", DOCS)
    assert shown.strip() == (ROOT / "benchmarks/serving/load.md").read_text("utf-8").strip()
    assert shown.count("\n|") > 60 and "| float | suggest | 64 clients |" in shown


def test_the_systemd_unit():
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(snippet("ini"))
    command, *flags = shlex.split(unit["Service"]["ExecStart"])
    assert command.endswith("/mtn-serve") and _parser().parse_args(flags).workers == 2
    assert "-HUP" in unit["Service"]["ExecReload"]
    assert int(unit["Service"]["TimeoutStopSec"]) > 35  # the supervisor's own limit


def test_the_manifest_and_the_container():
    manifest = yaml.safe_load(snippet("yaml"))
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    paths = {route.path for router in (public, admin) for route in router.routes}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in paths
    entry = re.search(r"^ENTRYPOINT (.*)$", snippet("dockerfile"), re.MULTILINE).group(1)
    command, *flags = yaml.safe_load(entry)
    assert command == "mtn-serve"
    args = _parser().parse_args([*flags, *container["args"]])
    assert (args.host, args.port) == ("0.0.0.0", container["ports"][0]["containerPort"])
