"""What the site has that is no page of `docs/`: the documents of the repository's root."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# Page of the site -> document of the root.
ROOT_DOCUMENTS = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "license.md": "LICENSE",
    "security.md": "SECURITY.md",
}
_LINK = re.compile(r"\]\((?:\.\./)?(?P<target>[^)#\s:]+)(?P<anchor>#[^)]*)?\)")
_FOR_THE_SITE = re.compile(r"<!--\n(?P<markdown>::: .*?)-->", re.DOTALL)  # of mkdocstrings
_FILE_AS_TEXT = re.compile(r"\[(?:docs/)?(?P<name>[a-z-]+)\.md\]\(")


def on_files(files: Files, *, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the documents of the root."""
    for page, document in ROOT_DOCUMENTS.items():
        files.append(File.generated(config, page, content=(ROOT / document).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lets links to and from the root's documents lead to their pages, and names pages in words."""
    pages = {document: page for page, document in ROOT_DOCUMENTS.items()}

    def link(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if target == "README.md":
            return f"](index.md{anchor})"
        if target in pages:
            return f"]({pages[target]}{anchor})"
        if target.startswith("docs/"):
            return f"]({target.removeprefix('docs/')}{anchor})"
        return match[0]

    whole = _FOR_THE_SITE.sub(r"\g<markdown>", markdown)
    named = _FILE_AS_TEXT.sub(lambda match: f"[{match['name'].capitalize()}](", whole)
    return _LINK.sub(link, named)
