"""What holds on every network, whatever is played there."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refused import refused
from tests.scenario.drawn import has_misinform, networks, padded, renamed
from tests.sim import tiny
from tests.sim.games import ACTING, SEEDS, random_actions
from tests.sim.test_memory import described
from workflow_rl.config import RULE_SETS, GameConfig
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.images import DECOYS, IMAGES, MISINFORM_CANDIDATES, MISINFORM_DECOYS
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.scenario.records import CAPACITIES
from workflow_rl.scenario.tables import tables_of
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.blue import blue_acts
from workflow_rl.sim.draws import TOOK_FAVOURITE
from workflow_rl.sim.memory import BEGIN, BlueMemory
from workflow_rl.sim.observation import SIMULATED, simulated
from workflow_rl.sim.red_given import legal_actions, red_actions_of
from workflow_rl.sim.red_view import red_view_layout, red_view_size
from workflow_rl.sim.state import Access, RedAgent, Success
from workflow_rl.sim.table import read_table

FEW, STEPS = 4, 40
OBSERVATIONS = st.sampled_from([name for name in SIMULATED if name != "cardiff"])
GAMES = st.fixed_dictionaries(
    {
        "red_agent": st.sampled_from(
            [
                "bline",
                "meander",
                "bait",
                "random",
                "patient:3:meander",
                "bline=1,meander=2,random=2",
            ]
        ),
        "rules": st.sampled_from(RULE_SETS),
        "green_agent": st.sampled_from(["sleep", "active"]),
        "observation": OBSERVATIONS,
        "episode_length": st.sampled_from([7, 1000]),
    }
)
ALL_DECOYS = DECOYS + MISINFORM_DECOYS


def begun(n: int, network: Network, seed: int, **game: Any) -> Batch:
    batch = Batch(n, GameConfig(network=network, **game), red_view=True)
    batch.reset(seed=seed)
    return batch


def moves(network: Network, seed: int, acting: float, n: int = FEW) -> Any:
    """Random actions of Blue, a row each step; action 0 where it is not to act."""
    return random_actions(seed, acting, n, STEPS, actions_of(network).size)


def bytes_of(batch: Batch, rows: slice) -> list[bytes]:
    arrays = [*batch.out._asdict().values(), *batch.red._asdict().values()]
    return [batch.state[rows].tobytes(), *(array[rows].tobytes() for array in arrays)]


@settings(deadline=None, max_examples=25)
@given(network=networks(), game=GAMES, seed=SEEDS, acting=ACTING)
def test_a_batch_of_n_is_n_batches_of_one(
    network: Network, game: dict[str, Any], seed: int, acting: float
) -> None:
    together = begun(FEW, network, seed, **game)
    alone = []
    for k in range(FEW):
        one = Batch(1, GameConfig(network=network, **game), red_view=True)
        one.state["index"] = k
        one.reset(seed=seed)
        alone.append(one)
    for actions in moves(network, seed, acting):
        together.step(actions)
        for k, one in enumerate(alone):
            one.step(actions[k : k + 1].copy())
    for k, one in enumerate(alone):
        assert bytes_of(together, slice(k, k + 1)) == bytes_of(one, slice(1))


@settings(deadline=None, max_examples=25)
@given(network=networks(), game=GAMES, seed=SEEDS, acting=ACTING)
def test_names_change_nothing_but_names(
    network: Network, game: dict[str, Any], seed: int, acting: float
) -> None:
    other = renamed(network)
    one, two = begun(FEW, network, seed, **game), begun(FEW, other, seed, **game)
    for actions in moves(network, seed, acting):
        one.step(actions)
        two.step(actions)
    assert bytes_of(one, slice(FEW)) == bytes_of(two, slice(FEW))
    for mine, its in (
        (actions_of(network), actions_of(other)),
        (
            red_actions_of(network),
            red_actions_of(other),
        ),
    ):
        assert [name.split()[0] for name in mine.names] == [name.split()[0] for name in its.names]
        assert len(set(its.names)) == its.size


# --- hosts that nobody reaches

PER_POSITION = red_view_layout(SCENARIO2)[0].size // len(SCENARIO2.hosts)  # bits of Red's view
# Fields of State that name an action of Blue by its number, which the number of hosts changes.
NUMBERED = ("blue_action",)
SAME_OUT = ("reward", "reward_tenths", "truncated")


def same_games(one: Batch, two: Batch) -> None:
    """Asserts that two batches agree on the hosts, zones and draws of the first one's network."""
    network, other = one.network, two.network
    n, m = len(network.hosts), len(network.zones)
    for name in one.state.dtype.names or ():
        if name in NUMBERED or name.startswith("_padding_") or name in ("memory", "table"):
            continue
        mine, its = one.state[name], two.state[name]
        if mine.ndim == 2:
            mine, its = mine[:, :n], its[:, :n]
        np.testing.assert_array_equal(mine, its, err_msg=name)
    for name in SAME_OUT:
        np.testing.assert_array_equal(getattr(one.out, name), getattr(two.out, name))
    np.testing.assert_array_equal(one.out.red_access, two.out.red_access[:, :n])
    assert not two.out.red_access[:, n:].any()
    for mine, its in zip(one.state["table"], two.state["table"], strict=True):
        read = read_table(other, its)
        assert read[:n] == read_table(network, mine)
        assert set(read[n:]) <= {(0, 0)}
    blue = [actions_of(other).parse(name) for name in actions_of(network).names]
    np.testing.assert_array_equal(one.out.action_mask, two.out.action_mask[:, blue])
    red = [red_actions_of(other).names.index(name) for name in red_actions_of(network).names]
    np.testing.assert_array_equal(one.red.legal, two.red.legal[:, red])
    assert not np.delete(two.red.legal, red, axis=1).any()
    for entry in simulated(one.config.observation, network).entries:
        columns = simulated(one.config.observation, network).columns(entry.name)
        start = simulated(two.config.observation, other).columns(entry.name).start
        mine = one.observation[:, columns]
        if entry.name == "truth":  # what follows the hosts stands behind the new ones
            mine = mine[:, : 2 * n]
        its = two.observation[:, start : start + mine.shape[1]]
        np.testing.assert_array_equal(mine, its, err_msg=entry.name)
    for start, its_start, size in (
        (0, 0, n * PER_POSITION),  # positions; then known zones, swept zones and the rest
        (n * PER_POSITION, len(other.hosts) * PER_POSITION, m),
        (n * PER_POSITION + m, len(other.hosts) * PER_POSITION + m + 1, m),
    ):
        np.testing.assert_array_equal(
            one.red.observation[:, start : start + size],
            two.red.observation[:, its_start : its_start + size],
        )
    rest = red_view_size(network) - n * PER_POSITION - 2 * m
    np.testing.assert_array_equal(one.red.observation[:, -rest:], two.red.observation[:, -rest:])


@settings(deadline=None, max_examples=30)
@given(
    network=networks(),
    spare=st.sampled_from([1, 2, 15, 31, 44]),  # also into the larger size classes
    game=GAMES,
    seed=SEEDS,
    acting=ACTING,
)
def test_hosts_that_nobody_reaches_listed_last_change_nothing_for_the_others(
    network: Network, spare: int, game: dict[str, Any], seed: int, acting: float
) -> None:
    """The same games, to the draw, whatever the size class; only numbers of actions differ."""
    other = padded(network, min(spare, CAPACITIES[-1] - len(network.hosts)))
    one, two = begun(FEW, network, seed, **game), begun(FEW, other, seed, **game)
    numbers = np.array([actions_of(other).parse(name) for name in actions_of(network).names])
    same_games(one, two)
    for actions in moves(network, seed, acting):
        one.step(actions)
        two.step(numbers[actions])
        same_games(one, two)


@settings(deadline=None, max_examples=30)
@given(network=networks(), game=GAMES, seed=SEEDS, kind=st.sampled_from(sorted(ActionKind)))
def test_what_blue_does_on_a_host_that_nobody_reaches_changes_its_cost_alone(
    network: Network, game: dict[str, Any], seed: int, kind: ActionKind
) -> None:
    other = padded(network, 1)
    first = actions_of(other).first(kind)
    if kind <= ActionKind.MONITOR or first is None or "Sleep" not in other.actions:
        return
    sleep, there = actions_of(other).first(ActionKind.SLEEP), first + len(network.hosts)
    one, two = begun(FEW, other, seed, **game), begun(FEW, other, seed, **game)
    for _ in range(STEPS):
        one.step(np.full(FEW, sleep))
        two.step(np.full(FEW, there))
        cost = 10 if kind == ActionKind.RESTORE else 0
        np.testing.assert_array_equal(
            one.out.reward_tenths - two.out.reward_tenths, [[0, 0, cost]] * FEW
        )
        np.testing.assert_array_equal(one.state["red_action"], two.state["red_action"])
        np.testing.assert_array_equal(one.state["red_target"], two.state["red_target"])
        np.testing.assert_array_equal(one.out.red_access, two.out.red_access)


# --- observations, masks, legality


@settings(deadline=None, max_examples=30)
@given(network=networks(), game=GAMES, seed=SEEDS, acting=ACTING)
def test_observations_are_made_of_the_table_and_the_truth(
    network: Network, game: dict[str, Any], seed: int, acting: float
) -> None:
    batch = begun(FEW, network, seed, **game | {"episode_length": 1000})
    shown = simulated(batch.config.observation, network)
    n = len(network.hosts)
    for actions in moves(network, seed, acting):
        batch.step(actions)
        assert batch.observation.shape == (FEW, shown.size)
        assert (batch.observation <= shown.highest).all()
        for row, state, access in zip(
            batch.observation, batch.state, batch.out.red_access, strict=True
        ):
            read = read_table(network, state["table"])
            bits = [
                bit
                for name in network.observed
                for part in read[network.number(name)]
                for bit in (part & 1, part >> 1)
            ]
            assert row[shown.columns("table")].tolist() == bits
            for host, (activity, _) in zip(network.hosts, read, strict=True):
                assert not activity or host.blue is Blue.WATCHED
            if shown.is_privileged:
                truth = row[shown.columns("truth")].tolist()
                held = [
                    int(level >= wanted) for level in access for wanted in (1, Access.PRIVILEGED)
                ]
                agents = [int(state["red_agent"] == agent) for agent in range(RedAgent.SLEEP + 1)]
                assert truth == [*held, int(state["ot_down"] != 0), *agents]
            assert (access[:n] >= 0).all()


@settings(deadline=None, max_examples=25)
@given(network=networks(), seed=SEEDS, acting=ACTING, spare=st.sampled_from([0, 20, 40]))
def test_what_blue_remembers_is_what_the_whole_history_says(
    network: Network, seed: int, acting: float, spare: int
) -> None:
    network = padded(network, spare)
    game = GameConfig(network=network, red_agent="meander", observation="recall")
    batch, memory = Batch(1, game, autoreset=False), BlueMemory(network, 1, recalls=True)
    batch.reset(seed)
    size = 4 * len(network.observed)
    memory.update(batch.observation[:, :size].copy(), np.array([BEGIN]))
    steps = []
    for actions in moves(network, seed, acting, 1)[:20]:
        batch.step(actions)
        steps.append((batch.observation[0, :size].copy(), int(actions[0])))
        rows = memory.update(batch.observation[:, :size].copy(), actions)
        assert (rows == batch.observation).all()
        if not has_misinform(network):
            assert (memory.action_mask == batch.out.action_mask).all()
    assert batch.observation[0].tolist() == described(steps, network).tolist()


def accepted(network: Network, state: Any, host: int, number: int) -> bool:
    """Says whether a host takes a decoy now, by the ports in use there."""
    image, decoy = IMAGES[network.hosts[host].image], ALL_DECOYS[number]
    standing = [d for i, d in enumerate(ALL_DECOYS) if int(state["decoys"][host]) >> i & 1]
    used = {service.port for service in image.services} | {decoy.opens for decoy in standing}
    return decoy.needs_free not in used


@settings(deadline=None, max_examples=30)
@given(network=networks(), seed=SEEDS, acting=ACTING)
def test_the_mask_says_exactly_which_decoys_are_refused(
    network: Network, seed: int, acting: float
) -> None:
    batch = begun(FEW, network, seed, red_agent="meander")
    actions_there, net = actions_of(network), tables_of(network)[0]
    for actions in moves(network, seed, acting)[:24]:
        batch.step(actions)
        if batch.state["step"][0] % 6:
            continue
        for k in range(2):
            for action, (kind, host) in enumerate(
                zip(actions_there.kinds, actions_there.hosts, strict=True)
            ):
                offered = bool(batch.out.action_mask[k, action])
                if kind < ActionKind.FIRST_DECOY:
                    assert offered
                    continue
                state: Any = batch.state[k : k + 1].copy()[0]
                blue_acts(state, net, action, 0)
                assert offered == (state["blue_success"] == Success.TRUE)
                there = network.hosts[host]
                acts = there.blue in (Blue.WATCHED, Blue.UNWATCHED)
                if kind == ActionKind.MISINFORM:
                    fits = any(
                        accepted(network, batch.state[k], host, d) for d in MISINFORM_CANDIDATES
                    )
                else:
                    decoy = DECOYS[kind - ActionKind.FIRST_DECOY]
                    suits = decoy.windows in (None, IMAGES[there.image].windows)
                    number = int(kind - ActionKind.FIRST_DECOY)
                    fits = suits and accepted(network, batch.state[k], host, number)
                assert offered == (acts and fits)


@settings(deadline=None, max_examples=30)
@given(network=networks(), seed=SEEDS, acting=ACTING)
def test_the_random_red_takes_legal_actions_and_all_others_are_refused(
    network: Network, seed: int, acting: float
) -> None:
    script = begun(FEW, network, seed, red_agent="random")
    given_ = begun(FEW, network, seed, red_agent="red.safetensors")
    red = red_actions_of(network)
    for actions in moves(network, seed, acting)[:20]:
        states: Any = script.state
        legal = np.array([legal_actions(network, env) for env in states])
        script.step(actions)
        taken = red.numbers(script.state["red_action"], script.state["red_target"])
        assert legal[np.arange(FEW), taken].all()
        for wrong in (-1, red.size, *np.flatnonzero(~legal[-1])[:3].tolist()):
            refused(
                f"red action {wrong} is not legal in environment {FEW - 1}; legal are Sleep",
                given_.step,
                actions,
                red_actions=np.array([*taken[:-1], wrong]),
            )
        given_.step(actions, red_actions=taken)
        for name in ("reward", "red_access", "observation"):
            assert (getattr(script.out, name) == getattr(given_.out, name)).all()


@settings(deadline=None, max_examples=30)
@given(network=networks(), game=GAMES, seed=SEEDS, acting=ACTING)
def test_invariants_hold_on_every_network(
    network: Network, game: dict[str, Any], seed: int, acting: float
) -> None:
    batch = begun(FEW, network, seed, **game | {"episode_length": 1000})
    net: Any = tables_of(network)[0]
    n = len(network.hosts)
    hosts = (1 << n) - 1
    foothold = 1 << network.number(network.foothold)
    values = np.array([round(10 * host.value) for host in network.hosts])
    services = np.array([round(10 * host.service_value) for host in network.hosts])
    every = np.arange(n)
    for actions in moves(network, seed, acting):
        raised = batch.state["red_raised"].copy()
        batch.step(actions)
        s, out = batch.state, batch.out
        assert (s["privileged"] & foothold == foothold).all()
        for name in ("privileged", "removable", "persistent", "malware", "ot_down", "restored"):
            assert not (s[name] & ~hosts).any()
        for name in ("addresses_known", "names_known", "ports_known"):
            assert not (s[name] & ~hosts).any()
        assert not (s["names_known"] & ~s["addresses_known"]).any()
        assert not (s["removable"] & ~net["watched"]).any()
        assert not (s["ot_down"] & ~net["runs_ot"]).any()
        assert not (s["ot_down"] & s["restored"]).any()
        assert not (s["restored"] & ~net["agents"]).any()
        assert not s["event_hosts"].any()
        assert (out.reward == out.reward_tenths.sum(axis=1) / 10.0).all()
        charged = s["privileged"][:, None] >> every & 1
        if not network.foothold_charged:
            charged[~s["foothold_root"], network.number(network.foothold)] = 0
        assert (out.reward_tenths[:, 0] == -(charged * values).sum(axis=1)).all()
        down = s["ot_down"][:, None] >> every & 1
        assert (out.reward_tenths[:, 1] == -(down * services).sum(axis=1)).all()
        assert (s["red_raised"][raised > 0] == raised[raised > 0]).all()
        assert (s["red_action"][raised > 0] == 0).all()


@settings(deadline=None, max_examples=20)
@given(network=networks(), seed=SEEDS)
def test_recorded_outcomes_of_every_host_can_be_played(network: Network, seed: int) -> None:
    """Draws that name hosts, decoys and exploits that are not possible give way."""
    batch = begun(FEW, network, seed, red_agent="mixed", green_agent="active")
    rng = np.random.default_rng(seed)
    for actions in moves(network, seed, 0.5):
        batch.step(actions, ~rng.integers(0, TOOK_FAVOURITE + 2, (FEW, 5)))
        assert (batch.state["red_target"] < max(len(network.hosts), len(network.zones))).all()
        assert not (batch.state["event_hosts"]).any()


# --- the largest network


def test_64_hosts_play_and_the_last_one_is_as_good_as_the_first() -> None:
    base = tiny.network(*(tiny.host(f"host{h}") for h in range(64)))
    batch = begun(2, base, 3, red_agent="meander", episode_length=1000)
    for _ in range(400):
        batch.step(np.zeros(2, np.int64))
    assert (batch.out.red_access[:, 63] == Access.PRIVILEGED).all()
    assert (batch.out.red_access == Access.PRIVILEGED).all()
    last = actions_of(base).parse("Restore host63")
    batch.step(np.full(2, last))
    assert (batch.out.red_access[:, 63] == 0).all()
    assert (batch.out.red_access[:, :63] == Access.PRIVILEGED).all()
    assert (batch.out.reward_tenths[:, 0] == -63).all()
