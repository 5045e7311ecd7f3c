"""A run's playbook, written as files."""

from pathlib import Path
from typing import Final

from workflow_rl.config import one_of
from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import json_text, named_output, write_named
from workflow_rl.playbook.cacao import cacao_playbook
from workflow_rl.playbook.handout import Handout, handout_of
from workflow_rl.playbook.runbook import runbook

MARKDOWN: Final = "markdown"
CACAO: Final = "cacao"
BOTH: Final = "both"
PLAYBOOK_FORMATS: Final = (MARKDOWN, CACAO, BOTH)
_SUFFIX: Final = {MARKDOWN: ".md", CACAO: ".json"}
_STEM: Final = "playbook"


def write_playbook(
    run: str | Path, output: str | Path | None = None, *, format: str = BOTH
) -> list[Path]:
    """Writes the recommended order of a finished run as a runbook and as a CACAO playbook.

    Args:
        run: the run's directory.
        output: the file to write; of both formats, its name ends in `.md` and in `.json`. By
            default `playbook.md` and `playbook.json` in the run.
        format: `markdown`, `cacao` or `both`.

    Returns:
        The files.

    Raises:
        InvalidInputError: it is no finished run that recommends an order, or nothing can be written
            there.
    """
    one_of("format", format, PLAYBOOK_FORMATS)
    folder = file_path("a run", run)
    kinds = (MARKDOWN, CACAO) if format == BOTH else (format,)
    if output is None:
        files = [folder / f"{_STEM}{_SUFFIX[kind]}" for kind in kinds]
    else:
        named = file_path("an output", output)
        if not named.name:
            raise InvalidInputError(f"{named} is a directory: name a file")
        files = [named.with_suffix(_SUFFIX[k]) if format == BOTH else named for k in kinds]
    targets = [named_output(file) for file in files]
    handout = handout_of(folder)
    contents = [_content(kind, handout) for kind in kinds]
    for target, content in zip(targets, contents, strict=True):
        write_named(target, content.encode())
    return files


def _content(kind: str, handout: Handout) -> str:
    if kind == MARKDOWN:
        return runbook(handout)
    return json_text(cacao_playbook(handout), indent=2) + "\n"
