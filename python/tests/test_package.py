"""The installed package: types, documentation, names."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import gridstride
from gridstride import _core


def test_everything_public_is_documented():
    for module in (gridstride, gridstride.fasta, gridstride.tensor_sketch, gridstride.time_series):
        for name in module.__all__:
            item = getattr(module, name)
            assert inspect.getdoc(item), name
            if inspect.isclass(item):
                members = {name: member for name, member in vars(item).items() if not name.startswith("_")}
                undocumented = [name for name, member in members.items() if not inspect.getdoc(member)]
                assert not undocumented, item


def test_stubs_agree_with_the_extension():
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "gridstride._core", "--ignore-disjoint-bases"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_annotations_have_the_names_of_the_library():
    names = {option: set(names) for option, names in _core.choices()}
    found = set()
    for file in sorted(Path(gridstride.__file__).parent.glob("*.py*")):
        for argument in ast.walk(ast.parse(file.read_text())):
            # An argument of a function, or of the functions with the keywords of a TypedDict.
            if isinstance(argument, ast.arg):
                name = argument.arg
            elif isinstance(argument, ast.AnnAssign) and isinstance(argument.target, ast.Name):
                name = argument.target.id
            else:
                continue
            if name in names and "Literal" in ast.dump(argument):
                literals = {part.value for part in ast.walk(argument.annotation) if isinstance(part, ast.Constant)}
                assert literals - {None} == names[name], (file.name, argument.lineno, name)
                found.add(name)
    # The argument dtype takes the types of numpy.
    assert found == names.keys() - {"dtype"}


def test_types_are_complete(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\n"
        "import gridstride\n"
        "count: int = gridstride.edit_distance('a', 'b')\n"
        "product = gridstride.matmul(np.zeros((2, 2)), [[1.0], [2.0]], device='cpu')\n"
        "gridstride.matmul(product, product, precision='half')\n"
    )
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", program], capture_output=True, text=True)
    assert 'No overload variant of "matmul"' in run.stdout and "Found 1 error" in run.stdout, run.stdout + run.stderr
