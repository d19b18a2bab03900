"""The programs and the notebook of `examples`, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name):
    # Dask and Ray call what pandas and Ray deprecate.
    warnings = ["-W", "error", "-W", "ignore::DeprecationWarning"]
    program = subprocess.run([sys.executable, *warnings, EXAMPLES / name], capture_output=True, text=True, timeout=180)
    assert program.returncode == 0, program.stdout + program.stderr
    return program.stdout


def test_dask():
    pytest.importorskip("dask.distributed")
    found = run("dask_time_series.py")
    assert "6 partitions" in found and "pandas agrees" in found


def test_ray():
    # Ray itself is imported only by the program, since it adds handlers to the process.
    if subprocess.run([sys.executable, "-c", "import ray"], capture_output=True).returncode != 0:
        pytest.skip("ray cannot be imported")
    found = run("ray_tensor_sketch.py")
    assert "a single call agrees" in found and "all pairs are found" in found


def test_notebook():
    program = (
        "import nbformat, nbclient\n"
        f"notebook = nbformat.read({str(EXAMPLES / 'articles.ipynb')!r}, as_version=4)\n"
        "code = [cell for cell in notebook.cells if cell.cell_type == 'code']\n"
        "assert not any(cell.outputs or cell.execution_count for cell in code), 'the outputs are stored'\n"
        "nbclient.NotebookClient(notebook, timeout=120, kernel_name='python3').execute()\n"
        "print(sum('image/png' in output.get('data', {}) for cell in code for output in cell.outputs), 'figures')\n"
    )
    pytest.importorskip("nbclient")
    pytest.importorskip("matplotlib")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout == "5 figures\n"
