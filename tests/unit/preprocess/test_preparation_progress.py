"""Progress bars of the preparation, shown or not, of known length or not, never fail."""

import pytest

from mtn_preprocess.progress import Progress


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("lines_read", [0, 5])
def test_finding_counts_every_row(shown, lines_read, capsys):
    """With Spark the workers read the lines, so the length is unknown when sessions arrive."""
    progress = Progress(shown)
    progress.lines = lines_read
    with progress.finding() as watch:
        watch(2)
        watch(3)
    told = capsys.readouterr().err
    assert ("5.00" in told) == shown
    assert ("5.00/5.00" in told) == (shown and lines_read == 5)


def test_no_bar_without_rows(capsys):
    with Progress(shown=True).finding():
        pass
    assert capsys.readouterr().err == ""
