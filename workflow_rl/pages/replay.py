"""An episode and the page that replays it: every moment, named and explained."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent, TellingAgent
from workflow_rl.belief.belief import Belief
from workflow_rl.config import RED_AGENTS, GameConfig, RuleSetName, whole_number
from workflow_rl.config.reds import Red
from workflow_rl.envs.episode import Episode, Moment
from workflow_rl.envs.render import blue_sentence, host_view, red_sentence
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import write_named
from workflow_rl.pages import style
from workflow_rl.pages.page import render
from workflow_rl.pages.style import Figure, base_figure
from workflow_rl.parity.replay import recorded_draws
from workflow_rl.parity.trace import Trace
from workflow_rl.scenario.actions import NO_HOST, actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.summary import summary_of
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.checks import checked_actions
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.state import Outcome, RedAction
from workflow_rl.workflow.explain import explain_observed, explain_true
from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import units_of

MOST_STEPS: Final = 2_000  # of a replay: a page with more is no longer looked at
_DECIMALS: Final = 4  # of a probability
_SHOWN_CHOICES: Final = 5
_RED_NAMES: Final = {
    "bline": "B_line",
    "meander": "Meander",
    "sleep": "a sleeping Red",
    "bait": "Bait",
    "random": "a random Red",
    "path": "Path",
}
_PARTS: Final = (
    ("hosts held", style.BAD),
    ("OT service down", style.WORSE),
    ("Restores", style.GOOD),
)
_FIXES: Final = (
    ("compliant", style.BETTER, "triangle-up"),
    ("violation", style.WORSE, "x"),
    ("does not count", style.MUTED, "circle-open"),
)
Choice = tuple[tuple[int, float], ...]  # actions with their probabilities


@dataclass(frozen=True)
class Replay:
    """An episode that was played, and what is known of it."""

    who: str  # plays Blue
    config: GameConfig
    episode: Episode
    order: Order | None  # None: no workflow is followed, so nothing complies
    facts: dict[str, str]
    warning: str = ""
    choices: tuple[Choice, ...] | None = None  # of each step; None: Blue has no probabilities

    @property
    def red(self) -> str:
        """Who plays Red."""
        return _red_name(self.config.reds[int(self.episode.moments[-1].state["red_number"])])

    @property
    def title(self) -> str:
        """Who plays whom, under which order."""
        under = "" if self.order is None else f", under {self.order}"
        return f"{self.who} against {self.red}{under}"


def _red_name(red: Red) -> str:
    name = Path(red.name).stem if red.is_policy else _RED_NAMES[red.agent]
    return f"{name} after {red.wait} sleeps" if red.wait else name


def play_agent(
    agent: BlueAgent,
    game: GameConfig,
    seed: int,
    *,
    who: str,
    order: Order | None = None,
    sampled: bool = False,
) -> Replay:
    """Lets an agent play one episode, as it would be evaluated.

    Args:
        agent: the Blue agent; its own observation replaces the game's.
        game: what is played.
        seed: of the game and of the agent's sampling.
        who: what the page calls the agent.
        order: by which fixes are judged, where the agent follows none.
        sampled: whether the policy is stochastic, which the page says.
    """
    config = replace(game, observation=agent.observation)
    whole_number("the steps of a replay", config.episode_length, 1, MOST_STEPS)
    episode = Episode(config, whole_number("--seed", seed, 0, 2**63 - 1))
    choices = _play(agent, episode, seed)
    facts = {
        "seed": str(seed),
        "actions": "sampled" if sampled else "most probable",
    }
    return Replay(who, config, episode, agent.order or order, facts, choices=choices)


def _play(agent: BlueAgent, episode: Episode, seed: int) -> tuple[Choice, ...] | None:
    """Plays an episode to its end; returns what the agent found most probable, if it tells."""
    if isinstance(agent, TellingAgent):
        agent.keeps_chances = True
    agent.begin(1, seed)
    choices = []
    while not episode.has_ended:
        action, choice = ask(agent, episode.config.network, episode.moment, episode.position)
        choices += [choice] if choice else []
        episode.act(action)
    return tuple(choices) or None


def ask(agent: BlueAgent, network: Network, moment: Moment, step: int) -> tuple[int, Choice]:
    """Returns an agent's action at a moment, and what it found most probable, if it tells."""
    chosen = agent.act(moment.observation[None], moment.action_mask[None], step)
    (action,) = checked_actions(network, chosen, (1,), f"the actions of {agent.name}")
    if isinstance(agent, TellingAgent) and agent.chances is not None:
        return int(action), _most_probable(agent.chances[0], int(action))
    return int(action), ()


def _most_probable(chances: NDArray[np.float64], played: int) -> Choice:
    """Returns the five most probable actions, and the one played if it is none of them."""
    best = [a for a in np.argsort(-chances, kind="stable")[:_SHOWN_CHOICES].tolist() if chances[a]]
    return tuple((a, float(chances[a])) for a in dict.fromkeys([*best, played]))


def play_trace(trace: Trace, number: int, rules: RuleSetName, order: Order | None = None) -> Replay:
    """Plays a recorded episode of the real CybORG again.

    Args:
        trace: the recording.
        number: which of its episodes, from 0.
        rules: the rule set it was recorded under.
        order: by which fixes are judged, if any.

    Raises:
        InvalidInputError: there is no such episode.
    """
    number = whole_number("--episode", number, 0, trace.episodes - 1)
    length = int(trace.lengths[number])
    if not length:
        raise InvalidInputError(f"episode {number} of {trace.name} has no steps")
    config = GameConfig(
        network=trace.network,
        red_agent=trace.red_agent,
        rules=rules,
        green_agent="active" if (trace.arrays["green_type"] == 1).any() else "sleep",
        episode_length=length,
    )
    episode = Episode(config, 0)
    draws = recorded_draws(trace)[number]
    for step, action in enumerate(trace.arrays["blue_action"][number, :length]):
        episode.act(int(action), np.ascontiguousarray(draws[step]))
    facts = {"recording": trace.name, "episode": f"{number} of {trace.episodes}"}
    got = np.diff([moment.total for moment in episode.moments])
    differs = np.abs(got - trace.arrays["reward"][number, :length]) > 1e-6
    warning = ""
    if differs.any():
        warning = (
            f"From step {int(differs.argmax()) + 1} on the rewards differ from the recording: was "
            f"it made under other rules than {rules}?"
        )
    return Replay("A recorded Blue of CybORG", config, episode, order, facts, warning)


def frames_of(replay: Replay) -> list[dict[str, Any]]:
    """Returns every moment of an episode as plain data, the start first.

    What Blue could know is left out where the belief has no model of a red agent.
    """
    config = replay.config
    names = actions_of(config.network).names
    belief = None
    if not config.unmodelled_reds:  # Blue does not know the red agent
        belief = Belief(
            network=config.network,
            rules=config.rules,
            observation=config.observation,
            green_agent=config.green_agent,
        )
    frames = [_frame(replay.episode.moments[0].state, config.network, 0.0) | _known(belief)]
    for step, (before, after) in enumerate(itertools.pairwise(replay.episode.moments)):
        action = int(after.state["blue_action"])
        if belief is not None:
            belief.update(after.observation, action)
        frame = _frame(after.state, config.network, after.total) | _known(belief)
        if replay.order is not None:
            frame |= _judged(before.state, action, replay.order)
        if replay.choices is not None:
            frame["choices"] = [
                [names[a], round(chance, _DECIMALS), a == action]
                for a, chance in replay.choices[step]
            ]
        frames.append(frame)
    return frames


def _known(belief: Belief | None) -> dict[str, Any]:
    """Returns what Blue could know: probabilities, by host, of the OT service and of who Red is."""
    if belief is None:
        return {}
    _, user, privileged = np.round(belief.access[0], _DECIMALS).T.tolist()
    return {
        "known": list(zip(user, privileged, strict=True)),
        "otStoppedKnown": round(float(belief.ot_stopped[0]), _DECIMALS),
        "redKnown": {
            name: round(float(chance), _DECIMALS)
            for name, chance in zip(RED_AGENTS, belief.red_agent[0], strict=True)
            if chance > 0
        },
    }


def _frame(state: Any, network: Network, total: float) -> dict[str, Any]:
    action = int(state["blue_action"])
    blue_host = NO_HOST if action == NOBODY else int(actions_of(network).hosts[action])
    red_action = RedAction(state["red_action"])
    sweeps = red_action is RedAction.DISCOVER_REMOTE_SYSTEMS
    aims = red_action is not RedAction.SLEEP and not sweeps
    parts = [int(state[name]) / 10 for name in ("confidentiality", "availability", "action_cost")]
    return {
        "blue": blue_sentence(state, network),
        "red": red_sentence(state, network),
        "blueHost": blue_host,
        "redHost": int(state["red_target"]) if aims else NOBODY,
        "redSubnet": int(state["red_target"]) if sweeps else NOBODY,
        "redWon": int(state["red_outcome"]) == Outcome.SUCCESS,
        "reward": round(sum(parts), 1),
        "parts": parts,
        "costs": _costs(state, network),
        "total": round(total, 1),
        "ot": not state["ot_down"],
        "otDown": [h for h in range(len(network.hosts)) if int(state["ot_down"]) >> h & 1],
        "hosts": [_host(state, network, host) for host in range(len(network.hosts))],
    }


def _host(state: Any, network: Network, host: int) -> dict[str, Any]:
    view = host_view(state, network, host)
    return {
        "access": view.access.name.lower(),
        "mark": view.mark.name.lower(),
        "seen": view.activity.name.lower(),
        "malware": view.malware,
        "decoys": list(view.decoys),
    }


def _costs(state: Any, network: Network) -> list[list[Any]]:
    """Returns what each host costs in this step, as [host, points]."""
    held = int(state["privileged"])
    costs = [(h, host.value) for h, host in enumerate(network.hosts) if held >> h & 1]
    return [[h, -cost] for h, cost in costs if cost]


def _judged(before: Any, action: int, order: Order) -> dict[str, Any]:
    seen = explain_observed(before["table"], action, order)
    true = explain_true(int(held_hosts(before)), int(before["removable"]), action, order)
    return {
        "verdict": seen.word,
        "why": seen.why,
        "due": seen.due,
        "dueHosts": list(seen.due_hosts),
        "trueVerdict": true.word,
        "trueWhy": true.why,
    }


# --- the page

_FEW_ZONES: Final = 3  # that stand side by side without scrolling
_FEW_HOSTS: Final = 16  # that a phone shows without scrolling sideways


def write_replay(replay: Replay, output: Path) -> Path:
    """Writes the replay as one HTML file."""
    write_named(output, replay_html(replay))
    return output


def replay_html(replay: Replay, written: str | None = None) -> str:
    """Returns the page.

    Args:
        replay: the episode.
        written: when, by default now.
    """
    frames = frames_of(replay)
    network = replay.episode.config.network
    names = network.host_names
    return render(
        "replay.html",
        assets=("replay.css", "replay.js"),
        data={
            "frames": frames,
            "hostNames": names,
            "subnetNames": [zone.lower() for zone in network.zone_names],
            "routes": [
                [names.index(host.name), names.index(reveal.host)]
                for host in network.hosts
                for reveal in host.reveals
                if reveal.address and reveal.host != host.name
            ],
        },
        figures={"timeline": _timeline(frames)},
        replay=replay,
        frames=frames,
        zones=[
            (number, zone, sorted(map(names.index, zone.hosts)))
            for number, zone in enumerate(network.zones)
        ],
        is_wide=len(network.zones) > _FEW_ZONES or len(names) > _FEW_HOSTS,
        about="" if replay.episode.config.is_scenario2 else summary_of(network),
        foothold=names.index(network.foothold),
        targets=network.roles.targets,
        host_names=names,
        units=units_of("types", network) if replay.order is None else replay.order.units,
        written=written or time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    )


def _timeline(frames: Sequence[dict[str, Any]]) -> Figure:
    """Returns the figure of rewards by their parts, the return and the fixes, by step."""
    steps = np.arange(len(frames))
    figure = base_figure(300, barmode="relative", bargap=0.15, hovermode="x", hoverdistance=-1)
    for part, (name, colour) in enumerate(_PARTS):
        figure.add_bar(
            x=steps,
            y=[frame["parts"][part] for frame in frames],
            marker={"color": colour, "line": {"width": 0}},
            name=name,
            hovertemplate="%{y:.1f}",
        )
    figure.add_scatter(
        x=steps,
        y=[frame["total"] for frame in frames],
        yaxis="y2",
        line={"color": style.INK, "width": 1.8},
        name="return so far (right)",
        hovertemplate="%{y:.1f}",
    )
    for verdict, colour, symbol in _FIXES:
        when = [step for step, frame in enumerate(frames) if frame.get("verdict") == verdict]
        if when:
            line = {"width": 2 if symbol.endswith("open") else 0, "color": colour}
            figure.add_scatter(
                x=when,
                y=[0.0] * len(when),
                mode="markers",
                marker={"symbol": symbol, "color": colour, "size": 9, "line": line},
                name=f"fix: {verdict}",
                hovertemplate=verdict,
            )
    lowest = min(min(frame["reward"] for frame in frames), -1.0)
    figure.update_layout(
        xaxis={"title": {"text": "step"}, "range": [-0.7, len(frames) - 0.3], "zeroline": False},
        yaxis={"title": {"text": "reward of the step"}, "range": [1.08 * lowest, -0.12 * lowest]},
        yaxis2={
            "overlaying": "y",
            "tickmode": "auto",
            "side": "right",
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
    )
    return figure
