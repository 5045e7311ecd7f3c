"""The pages made from code: `python -m docs.pages NAME`, of settings, commands or another."""

import argparse
import inspect
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from importlib.resources import files
from types import FunctionType
from typing import Any, Final

import workflow_rl
from docs.results_page import results_page, write_picture
from workflow_rl.cli import PROGRAM, build_parser
from workflow_rl.cli.arguments import Parser
from workflow_rl.config import (
    DEFAULT_PPO,
    DEFAULT_PRESET,
    PPO_FORMS,
    PRESETS,
    BackendConfig,
    ComparisonConfig,
    Execution,
    ExperimentConfig,
    GameConfig,
    PPOConfig,
    SearchConfig,
    Setting,
    TrainConfig,
    setting_fields,
)
from workflow_rl.scenario import network_toml
from workflow_rl.scenario.attackers import places_decoy, usable_exploits
from workflow_rl.scenario.images import DECOY_NAMES, IMAGES
from workflow_rl.scenario.network import Host, Network, Reveal, Zone

COMMAND: Final = "python -m docs.pages {0} > docs/{0}.md"
_SETTINGS: Final = f"""# Settings

Every setting of a run, as it is declared in `workflow_rl/config/`: the flags, `--help`, the checks
and the stored configuration come from the same declarations. This page is made by
`{COMMAND.format("settings")}`.

In Python a run is an `ExperimentConfig` of the sections below; a preset is one of them by name,
with changes to the settings of any section:

```python
from dataclasses import replace

from workflow_rl import ExperimentConfig

config = ExperimentConfig.preset("hybrid", game={{"red_agent": "meander"}}, train={{"n_envs": 4}})
config = replace(config, train=replace(config.train, max_episodes=100))
```

On the command line an explicit flag wins over the preset, lists are written with commas
(`--hidden 64,64`), and `workflow-rl COMMAND --help-all` shows the flags of a command.

## In a file

`search`, `train`, `landscape` and `compare-updates` take `--config FILE`, and Python
`ExperimentConfig.from_file(FILE)`. A TOML file has the sections below, and besides them `preset`,
`form` (of PPO) and `seed`; what it leaves out is the preset's:

```toml
# lab.toml
preset = "hybrid"
seed = 7

[game]
red_agent = "meander"

[train]
n_envs = 4
hidden = [64, 64]
```

A flag wins over the file, and the file over the preset. A run's own `experiment_config.json` is
such a file, too: `--config RUN/experiment_config.json` begins the same experiment again. What a
command depends on beyond its settings stands in a section `plan`: `workflow` of `train`; `seeds`
(a list), `policy`, `games` and `sample` of `landscape`; and every setting of a comparison of
presets, which takes nothing else but `red_agent`, `rules` and `episode_length` of `game`, `form`
and `seed`.
"""
_COMMANDS: Final = f"""# Commands

Every command with its flags, read from the parser itself: `{PROGRAM} COMMAND --help` shows those
for everyday use, `--help-all` every one. This page is made by
`{COMMAND.format("commands")}`; the settings of a run, their ranges and how to give them in Python
are in [settings.md](settings.md).

Exit codes: 0 done; 1 the work failed (a full disk, a training that diverged, a worker that died); 2
the request was wrong, nothing was begun; 130 interrupted, a run goes on with `--resume`.
"""
_PYTHON: Final = f"""# Python

The public names of `workflow_rl`, by their docstrings. Each is imported when it is asked for:
`import workflow_rl` loads neither the compiler nor the networks. This page is made by
`{COMMAND.format("python")}`.
"""
_IN_FULL: Final = """## In full

`help(workflow_rl.search)` shows a name with its arguments; on the site that `make docs` builds,
every one follows here.

<!--"""
_OF_AN_ENV: Final = """
    options:
      inherited_members: [hosts, actions, reset, step, render, get_action_meanings, close]"""
_NETWORKS: Final = f"""# Networks

The game is played on a network: the one of CAGE Challenge 2, `scenario2`, another that ships
(`cage1`, `office`, `plant`), or one in a file. A file is of our own format, TOML that is short
enough to write by hand, or a scenario file of CybORG (YAML). This page is made by
`{COMMAND.format("networks")}`.

```sh
workflow-rl network check office
workflow-rl network show plant --output plant.html
workflow-rl network new --hosts 30 --zones 4 --seed 1 --output mine.toml
workflow-rl network convert Scenario2.yaml --output mine.toml
```

`check` says what a network is, what in it cannot matter, what CybORG's own red agents do there and
what Blue can do. In Python `workflow_rl.scenario.loading.network_of` returns a network by its name
or its file.

## An example

```toml
{{example}}```

## Whose rule of reachability

By **routes** Red reaches a zone while it holds a host of a zone with a route to it, or a host in
the zone itself; its own zone is always reached. So it goes on from what it holds, and loses what
lies behind a host that Blue restores.

By **CybORG's** rule (`reachability = "cyborg"`) a zone is open, closed, or gated: reached while Red
holds any pivot, wherever that is. There is no way through two zones. Only such networks can be
written as scenario files and played by CybORG, and only if the roles are those of the hosts' names:
CybORG knows its pivots, targets and the rest by their names.

## The fields of a file
"""
_SCENARIOS: Final = """## Scenario files of CybORG

Files of CAGE Challenge 2's kind are read as CybORG plays them: three agents in the order Blue,
Green (which may be missing) and Red; every host in one subnet and of one of the images above;
values None, Low, Medium and High (0, 0.1, 1 and 10). The roles follow from the hosts' names:
`Op_Server0` is the target, a host whose name contains `Enterprise` is a pivot, `User0` is where
B_line begins, names with `Op` and `Ent` are taken anew by Meander, and Green scans `User0` to
`User4` and `Enterprise0` to `Enterprise2`.

Of the rules between subnets (NACLs) only `in` counts, of the entry for Red's own subnet or else of
`all`: `all` opens a zone, `None` gates it, a list of `PortRange` opens it for these ports, and
without such an entry it is closed. A reveal of a zone that Red's `AllowedSubnets` lacks shows
nothing.

What is not known to be played the same is refused with file, line and field, and with what CybORG
would do. Tags are refused; aliases must not stand for whole hosts.
"""
# Those that are not `workflow_rl.NAME` are named by their module: what functions return, or need an
# extra.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "Environments": (
        "envs.single.Cage2Env",
        "envs.vector.Cage2VectorEnv",
        "envs.cyborg.CyborgEnv",
        "envs.shared.SharedMemoryVectorEnv",
        "envs.sb3.Sb3VecEnv",
        "agents.red_env.Cage2RedEnv",
        "agents.red_env.Cage2RedVectorEnv",
        "envs.parallel.parallel_env",
        "envs.parallel.Cage2ParallelEnv",
        "envs.parallel_vector.Cage2ParallelVectorEnv",
        "belief.belief.Belief",
    ),
    "Networks": ("scenario.loading.network_of", "scenario.network.Network"),
    "Search and training": (
        "api.search",
        "api.SearchResult",
        "api.landscape",
        "api.LandscapeResult",
        "runs.train.train_workflow",
        "train.job.TrainOutcome",
    ),
    "Agents and policies": (
        "agents.policy.load_policy",
        "agents.policy.Policy",
        "agents.agent.BlueAgent",
        "agents.export.export_policy",
    ),
    "Evaluation": (
        "evaluation.protocol.evaluate",
        "evaluation.result.Evaluation",
        "evaluation.result.Cell",
        "evaluation.result.Result",
    ),
    "Pages and playbooks": (
        "api.report",
        "api.replay",
        "playbook.writing.write_playbook",
        "playbook.reading.read_playbook",
    ),
    "Settings": ("config.experiment.ExperimentConfig", "config.execution.Execution"),
}
_TABLES: Final = (
    ("The game", "game", GameConfig),
    ("Training", "train", TrainConfig),
    ("PPO", "ppo", PPOConfig),
    ("Search", "search", SearchConfig),
    ("Backend", "backend", BackendConfig),
    ("The run", "", ExperimentConfig),
    ("Where trainings run", "execution", Execution),
    ("A comparison of presets", "", ComparisonConfig),
)


def page(name: str) -> str:
    """Returns a page in Markdown: settings, commands, python or results."""
    if name == "results":
        return results_page()
    if name == "python":
        return "\n".join([_PYTHON, *_names(), _IN_FULL, *_directives(), "-->", ""])
    if name == "networks":
        example = (files("workflow_rl.scenario") / "networks" / "office.toml").read_text("utf-8")
        opening = _NETWORKS.replace("{example}", example)
        return "\n".join([opening, *_entries(), *_images(), _SCENARIOS])
    if name == "settings":
        return "\n".join([_SETTINGS, *_settings(), *_presets(), *_forms(), ""])
    return "\n".join((_COMMANDS, *_commands(build_parser())))


# --- settings


def _settings() -> Iterator[str]:
    for title, section, cls in _TABLES:
        yield f"## {title}\n"
        yield f"{cls.__doc__} (`{cls.__name__}`{f', section `{section}`' if section else ''})\n"
        yield _row("setting", "flag", "default", "allowed", "what it is")
        yield _row(*["---"] * 5)
        for field in setting_fields(cls).values():
            yield _row(
                f"`{field.name}`",
                ", ".join(f"`{flag}`" for flag in field.flags),
                _default(field),
                _allowed(field),
                _sentence(field),
            )
        yield ""


def _presets() -> Iterator[str]:
    yield "## Presets\n"
    yield "`--preset NAME`, or `ExperimentConfig.preset(NAME)`; the default is"
    yield f"`{DEFAULT_PRESET}`.\n"
    yield _row("preset", "what differs from the defaults")
    yield _row("---", "---")
    for name, preset in PRESETS.items():
        sections = {"train": preset.train, "ppo": preset.ppo, "game": preset.game}
        parts = [f"{s}: {_changes(changes)}" for s, changes in sections.items() if changes]
        parts += [f"the form of PPO `{preset.form}`"] if preset.form else []
        yield _row(f"`{name}`", "; ".join(parts) or "nothing")
    yield ""


def _forms() -> Iterator[str]:
    yield "## Forms of PPO\n"
    yield "`--ppo NAME`, or `ExperimentConfig.preset(..., form=NAME)`; the default is"
    yield f"`{DEFAULT_PPO}`.\n"
    yield _row("form", "what differs from the defaults of the table above")
    yield _row("---", "---")
    plain = PPOConfig()
    for name, form in PPO_FORMS.items():
        changed = {
            f.name: getattr(form, f.name)
            for f in fields(PPOConfig)
            if getattr(form, f.name) != getattr(plain, f.name)
        }
        yield _row(f"`{name}`", _changes(changed) or "nothing")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _changes(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {value}" for name, value in changes.items())


def _default(field: Setting) -> str:
    shown = field.shown(field.default)
    return shown if field.default is None else f"`{shown}`"


def _allowed(field: Setting) -> str:
    if field.choices:
        names = ", ".join(f"`{name}`" for name in field.choices)
        return f"a list of {names}" if field.is_list else names
    return field.allowed_list if field.is_list else field.allowed


def _sentence(field: Setting) -> str:
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in field.meanings.items())
    former = f" (formerly `{'`, `'.join(field.former)}`)" if field.former else ""
    text = field.text[0].upper() + field.text[1:]
    return f"{text}{f' ({meanings})' if meanings else ''}{former}."


# --- networks


def _entries() -> Iterator[str]:
    """Yields a table of each group of fields of our own format."""
    tables = (
        ("", network_toml.FILE),
        ("### A zone: `[zones]`", network_toml.ZONE),
        ("### A host: `[hosts]`", network_toml.HOST),
        ("### A reveal: text, the name of a host, or a table", network_toml.REVEAL),
        ("### Roles: `[roles]`", network_toml.ROLES),
    )
    for heading, entries in tables:
        if heading:
            yield f"{heading}\n"
        yield _row("field", "value", "default", "what it is")
        yield _row(*["---"] * 4)
        for name, entry in entries.items():
            yield _row(f"`{name}`", entry.kind, entry.default or "must be given", entry.meaning)
        yield ""
    yield "These are the defaults of roles by routes; with CybORG's rule they follow from the"
    yield "names of the hosts, as below.\n"


def _images() -> Iterator[str]:
    """Yields the table of the images."""
    yield "## Images\n"
    yield "What runs on a host decides which exploits take it and which decoys fit.\n"
    yield _row("image", "system", "ports", "exploits that take it", "decoys that fit")
    yield _row(*["---"] * 5)
    for name, image in IMAGES.items():
        host = Host("host", name)
        zone = Zone("zone", ("host",))
        network = Network("", (host,), (zone,), "host", (Reveal("host", zone=True),))
        ports = dict.fromkeys(str(service.port) for service in image.services)
        service = " and the OT service" if image.runs_ot_service else ""
        yield _row(
            f"`{name}`",
            "Windows" if image.windows else "Linux",
            ", ".join(ports) + service,
            ", ".join(usable_exploits(network, host)) or "none",
            ", ".join(kind for kind in DECOY_NAMES if places_decoy(host, kind)) or "none",
        )
    yield ""


# --- Python


def _names() -> Iterator[str]:
    """Yields a table of each group of names."""
    for group, names in _NAMES.items():
        yield f"## {group}\n"
        yield _row("name", "what it is", "what it has")
        yield _row(*["---"] * 3)
        for name in names:
            thing = pkgutil.resolve_name(f"workflow_rl.{name}")
            is_public = thing.__name__ in workflow_rl.__all__
            shown = thing.__name__ if is_public else f"workflow_rl.{name}"
            text = inspect.getdoc(thing) or ""
            members = [f"`{m}`" for m in _members(thing)] if inspect.isclass(thing) else []
            yield _row(f"`{shown}{_call(thing)}`", _cell(text.split("\n")[0]), ", ".join(members))
        yield ""


def _call(thing: Any) -> str:
    """Returns how something is called: the names of its arguments."""
    if getattr(thing, "_is_protocol", False):
        return ""
    parts = []
    for name, given in inspect.signature(thing).parameters.items():
        if given.kind is given.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        stars = {"VAR_KEYWORD": "**", "VAR_POSITIONAL": "*"}.get(given.kind.name, "")
        parts.append(f"{stars}{name}")
    return f"({', '.join(parts)})"


def _members(thing: Any) -> list[str]:
    """Returns the public methods and properties that a class, or one of ours below it, declares."""
    kinds = (FunctionType, property, cached_property, classmethod)
    ours = [cls for cls in inspect.getmro(thing) if cls.__module__.startswith("workflow_rl.")]
    members = {name: of for cls in reversed(ours) for name, of in vars(cls).items()}
    return [name for name, of in members.items() if isinstance(of, kinds) and name[0] != "_"]


def _directives() -> Iterator[str]:
    """Yields what mkdocstrings reads; `docs/hooks.py` takes it out of the comment."""
    for name in (name for names in _NAMES.values() for name in names):
        more = _OF_AN_ENV if name in ("envs.single.Cage2Env", "envs.cyborg.CyborgEnv") else ""
        yield f"::: workflow_rl.{name}{more}\n"


# --- commands


def _commands(parser: Parser) -> Iterator[str]:
    """Yields the section of each command."""
    for name, command in parser.commands.items():
        yield f"## {name}\n"
        yield f"{command.description}\n"
        yield "\n".join(("```sh", *command.examples, "```\n"))
        yield "| flag | what it is |\n|---|---|"
        yield from (_flag_row(command, action) for action in command.flags)
        yield ""


def _flag_row(parser: Parser, action: argparse.Action) -> str:
    """Returns the table's row of a flag."""
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    shown = " ".join(value) if isinstance(value, tuple) else value
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    flag = f"{names} {shown}".strip() if names else f"`{shown}`"
    text = (action.help or "") % (vars(action) | {"prog": parser.prog})
    unsaid = action.default in (None, argparse.SUPPRESS) or isinstance(action.default, bool)
    if action.option_strings and not unsaid and "(default: " not in text:
        text += f" (default: {action.default})"
    return _row(_cell(flag), _cell(text))


def _cell(text: str) -> str:
    """Returns a text as a table's cell holds it."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    if sys.argv[1] == "results":
        write_picture()
    print(page(sys.argv[1]), end="")
