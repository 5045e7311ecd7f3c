"""The order of a run, written: as a runbook for people (`runbook.md` filled in) and for CACAO."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.standing_orders import sentences_of, standing_orders_of
from workflow_rl.config import one_of
from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError, in_line
from workflow_rl.files import json_text, named_output, write_named
from workflow_rl.ordersearch.finding import PairEffect, listed
from workflow_rl.pages import words
from workflow_rl.playbook.cacao import playbook_of
from workflow_rl.playbook.handout import Handout, handout_of
from workflow_rl.playbook.plan import formatted
from workflow_rl.scenario import images
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.summary import reachability_of

BOTH: Final = "both"
_SUFFIX: Final = {"markdown": ".md", "cacao": ".json"}
_ESCAPES: Final = str.maketrans({c: f"\\{c}" for c in "\\`*[]|"} | {"<": "&lt;", "&": "&amp;"})


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
    one_of("format", format, (*_SUFFIX, BOTH))
    folder = file_path("a run", run)
    kinds = tuple(_SUFFIX) if format == BOTH else (format,)
    if output is None:
        files = [folder / f"playbook{_SUFFIX[kind]}" for kind in kinds]
    else:
        named = file_path("an output", output)
        if not named.name:
            raise InvalidInputError(f"{named} is a directory: name a file")
        files = [named.with_suffix(_SUFFIX[k]) if format == BOTH else named for k in kinds]
    targets = [named_output(file) for file in files]
    handout = handout_of(folder)
    contents = [runbook(handout) if kind == "markdown" else cacao(handout) for kind in kinds]
    for target, content in zip(targets, contents, strict=True):
        write_named(target, content)
    return files


def cacao(handout: Handout) -> str:
    """Returns the CACAO playbook of a run's order, as JSON."""
    game = handout.config.game
    description = (
        f"Fix marked hosts in the order {formatted(handout.plan)}: found by the workflow-rl run "
        f"{handout.run.name} against {game.red_agent}, rules {game.rules}, "
        f"{game.episode_length} steps an episode.{_both_values(handout)}{_holding(handout)}"
    )
    playbook = playbook_of(handout.plan, description, handout.facts(), handout.created)
    return json_text(playbook, indent=2) + "\n"


def _both_values(handout: Handout) -> str:
    """Says what the order is worth to the trained policy and by hand, against each attacker."""
    both = ((s.red_agent, s.deterministic, s.greedy) for s in handout.recommended.scores)
    values = "; ".join(f"{red} {a.reward.mean:.1f} and {b.reward.mean:.1f}" for red, a, b in both)
    return f" Points an episode of the trained policy and by hand: {values}." if values else ""


def _holding(handout: Handout) -> str:
    """Says against whom the trained policy holds, if the search asked."""
    holding = handout.recommended.holding
    return "" if holding is None else f" {' '.join(holding.sentences)}"


def runbook(handout: Handout) -> str:
    """Returns the runbook of a run's order."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "points": words.points,
        "percent": words.percent,
        "listed": listed,
        "code": _code,
    }
    return environment.get_template("runbook.md").render(
        **vars(handout),
        mine=handout.recommended,
        attackers=handout.attackers,
        names=[unit.name for unit in handout.plan],
        swaps=list(_swaps(handout)),
        words=words,
        standing_orders=sentences_of(standing_orders_of(handout.config.game.network)),
        rules=images,
        **_about_network(handout.config.game.network),
    )


def _about_network(network: Network) -> dict[str, Any]:
    """Returns what the runbook says of the network."""
    stopped = [network.hosts[network.number(name)] for name in network.roles.targets]
    return {
        "network": network,
        "is_challenge": network.digest == SCENARIO2.digest,
        "stopped": stopped,
        "reachability": reachability_of(network),
    }


def _swaps(handout: Handout) -> Iterator[tuple[str, str, PairEffect]]:
    """Yields the neighbours in the order whose arrangement has no clear effect, with the effect.

    Those whose other arrangement was tried and never complied with stay as they are.
    """
    finding = handout.finding
    kept = (*finding.clear, *finding.either)
    unmet = {(pair.first, pair.second) for pair in finding.unmet}
    unclear = {frozenset((p.first, p.second)): p for p in finding.effects if p not in kept}
    for first, second in pairwise(unit.name for unit in handout.plan):
        pair = unclear.get(frozenset((first, second)))
        if pair is not None and (second, first) not in unmet:
            yield first, second, pair


def _escaped(value: Any) -> str:
    """Writes any value as text within a line, none of it Markdown or HTML."""
    return value if isinstance(value, _Code) else in_line(str(value)).translate(_ESCAPES)


def _code(value: Any) -> str:
    """Writes any value as code within a line."""
    plain = in_line(str(value)).replace("`", "'")
    return _Code(f"`{plain}`")


class _Code(str):
    """Markdown that is to stay."""
