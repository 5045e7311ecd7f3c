import workflow_rl
from tests.cli.run import run


def test_the_version_is_that_of_the_package() -> None:
    result = run("--version")
    assert result.returncode == 0
    assert result.stdout == f"workflow-rl {workflow_rl.__version__}\n"


def test_help_works_as_a_process() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "usage: workflow-rl" in result.stdout
