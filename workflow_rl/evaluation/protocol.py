"""The official protocol: 30, 50 and 100 steps against each red agent, raw environment reward.

Apart from its score it shows attackers that deviate from CybORG's scripts.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.agent import BlueAgent, CyborgStyleAgent, as_agent, is_sampled
from workflow_rl.agents.named import make_agent, network_of_agent
from workflow_rl.agents.policy import Policy
from workflow_rl.config import (
    BACKENDS,
    MAX_EPISODE_LENGTH,
    OBSERVATIONS,
    RED_AGENTS,
    GameConfig,
    one_of,
    red_agent_name,
    whole_number,
)
from workflow_rl.config.checks import several
from workflow_rl.config.units import read_groups
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import EnvFactory, Play
from workflow_rl.evaluation.result import (
    DEVIATING_REDS,
    DEVIATING_STEPS,
    OFFICIAL_EPISODES,
    OFFICIAL_STEPS,
    Cell,
    Evaluation,
    are_official,
)
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.network import Network, check_network
from workflow_rl.workflow.orders import read_order
from workflow_rl.workflow.units import units_of

LOGGED_EPISODES: Final = 100  # of each cell, whose actions the text file lists
_MAX_EPISODES: Final = 1_000_000
_MAX_LISTED: Final = 20_000_000  # pairs of actions
_PAIR_BYTES: Final = 55  # of text, on average

Workflow = str | Sequence[str]
Evaluable = str | Path | Policy | BlueAgent | CyborgStyleAgent


def games_of(
    steps: Sequence[int] = OFFICIAL_STEPS, red_agents: Sequence[str] = RED_AGENTS, **settings: Any
) -> tuple[GameConfig, ...]:
    """Returns the games of every length against every red agent, by their other settings.

    Raises:
        InvalidInputError: something is not allowed, or named twice.
    """
    lengths = [whole_number("steps", n, 1, MAX_EPISODE_LENGTH) for n in several("steps", steps)]
    names = [red_agent_name(name) for name in several("red_agents", red_agents)]
    for what, values in (("steps", lengths), ("red agents", names)):
        if not values or len(set(values)) != len(values):
            raise InvalidInputError(f"{what} must be one or more, each named once, not {values}")
    return tuple(
        GameConfig(red_agent=red, episode_length=length, **settings)
        for length in lengths
        for red in names
    )


def deviating_reds(games: Sequence[GameConfig]) -> tuple[str, ...]:
    """Returns who else attacks where these games are played: nobody, unless they are official.

    Nor does anybody where Blue has a belief, which has no model of them.
    """
    return DEVIATING_REDS if are_official(games) and games[0].observation != "belief" else ()


def evaluate(
    what: Evaluable,
    *,
    episodes: int = OFFICIAL_EPISODES,
    rules: str = "main",
    steps: Sequence[int] = OFFICIAL_STEPS,
    red_agents: Sequence[str] = RED_AGENTS,
    deviating: Sequence[str] | None = None,
    green_agent: str = "sleep",
    network: str | Path | Network | None = None,
    observation: str = "challenge",
    workflow: Workflow | None = None,
    units: str | Path | Mapping[str, Sequence[str]] | None = None,
    sampled: bool | None = None,
    seed: int = 0,
    backend: str = "cage2",
    cyborg_path: str | Path | None = None,
    make_env: EnvFactory | None = None,
    logged_episodes: int = LOGGED_EPISODES,
    on_cell: Callable[[Cell], object] | None = None,
    on_start: Callable[[int], object] | None = None,
    on_episodes: Callable[[int], object] | None = None,
) -> Evaluation:
    """Evaluates an agent by the challenge's protocol, as `workflow-rl evaluate` does.

    Args:
        what: a baseline's name (sleep, random, react-restore, greedy, best, cardiff, ppo, or
            universal, which follows the given workflow); a run directory, whose recommended
            policy plays; a policy file; a model of SB3's PPO (`.zip`); `bline=PATH,meander=PATH`,
            a policy for each red agent; a policy; a `BlueAgent`; or an agent written for CybORG,
            with `get_action(observation, action_space)` and perhaps
            `end_episode()`, which plays the same games one after the other.
        episodes: of each cell.
        rules: main (the official repository today) or competition (the 2022 leaderboard).
        steps: the lengths of episodes.
        red_agents: the attackers, each by a name of `--red-agent`: mixed is one of the three,
            sampled for each episode.
        deviating: attackers that deviate from CybORG's scripts, in games of 100 steps, whose
            cells stand apart from the others; by default patient B_lines, bait and random go with
            the nine official cells on our simulator, and none with others.
        green_agent: sleep, as in the challenge, or active.
        network: what is played on, a name that ships or a file; by default what the agent was
            trained on, or Scenario2.
        observation: what a model of SB3 was trained on, which its file does not say; every other
            agent has its own.
        workflow: the order to follow, and by which compliance is judged; by default the
            policy's own.
        units: what the workflow names: types, hosts, subnets, a TOML file or groups of hosts; by
            default the policy's own units, or the five types.
        sampled: whether policies are stochastic; by default as their training says.
        seed: of everything; agents evaluated with the same seed meet the same games.
        backend: cage2 (our simulator) or cyborg (the original, which must play the rules named).
        cyborg_path: with cyborg, where the original is.
        make_env: makes another single environment to play on, by the keywords red_agent,
            episode_length, observation and seed; its own rules and its own Green apply.
        logged_episodes: of how many episodes of each cell the actions are kept.
        on_cell: called with each cell when it is finished.
        on_start: called with the number of episodes before the first is played.
        on_episodes: called with the number of further episodes played.

    Returns:
        Every cell with the return and the compliance of each episode.

    Raises:
        InvalidInputError: an argument is not allowed; nothing was played.
    """
    started = time.perf_counter()
    told: dict[str, Any] = {"rules": rules, "green_agent": green_agent, "observation": observation}
    asked = None if network is None else network_of(network)
    games = games_of(steps, red_agents, **told)
    one_of("backend", backend, BACKENDS)
    episodes = whole_number("episodes", episodes, 2, _MAX_EPISODES)
    logged = whole_number("logged_episodes", logged_episodes, 0, _MAX_EPISODES)
    listed = min(logged, episodes) * sum(game.episode_length for game in games)
    if listed > _MAX_LISTED:
        raise InvalidInputError(
            f"{listed:,} actions of both sides would be kept for the text file, about "
            f"{listed * _PAIR_BYTES / 1e9:,.0f} GB; {_MAX_LISTED:,} are allowed: lower "
            "--listed-episodes (logged_episodes)"
        )
    seed = whole_number("seed", seed, 0, 2**63 - 1)
    if units is not None and workflow is None:
        raise InvalidInputError("units say what a workflow names: name the workflow, too")
    named = None if units is None else read_groups(units)
    agent = (
        make_agent(
            what,
            workflow,
            units=named,
            sampled=sampled,
            rules=rules,
            observation=observation,
            network=asked,
        )
        if isinstance(what, str | Path | Policy)
        else as_agent(what)
    )
    known = network_of_agent(agent)
    played = asked or known or SCENARIO2
    check_network(agent.name, known or played, played)
    told["network"] = played
    told["observation"] = one_of("observation", agent.observation, OBSERVATIONS)
    games = games_of(steps, red_agents, **told)
    if deviating is None:
        deviating = deviating_reds(games) if make_env is None and backend == "cage2" else ()
    apart = games_of([DEVIATING_STEPS], deviating, **told) if len(deviating) else ()
    order = None if agent.order is None else read_order(agent.order)
    if workflow is not None:
        given = None if named is None else units_of(named, played)
        order = read_order(workflow, given or (order.units if order else None), played)
    if make_env is None and backend == "cyborg":
        from workflow_rl.envs.cyborg import CyborgEnv

        make_env = partial(
            CyborgEnv,
            cyborg_path=cyborg_path,
            rules=rules,
            green_agent=green_agent,
            network=played,
        )
    if on_start is not None:
        on_start(episodes * len((*games, *apart)))
    cells = []
    for game in (*games, *apart):
        play = Play(agent, game, seed, episodes, order, 0 if game in apart else logged)
        for number in play.episodes() if make_env is None else play.episodes_on(make_env):
            if on_episodes is not None:
                on_episodes(number)
        cells.append(play.cell())
        if on_cell is not None:
            on_cell(cells[-1])
    return Evaluation(
        agent=agent.name,
        observation=agent.observation,
        order=order,
        backend=backend,
        seed=seed,
        is_sampled=is_sampled(agent),
        cells=tuple(cells[: len(games)]),
        seconds=time.perf_counter() - started,
        deviating=tuple(cells[len(games) :]),
    )
