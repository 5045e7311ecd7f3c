"""What Blue remembers: against a slow description that keeps the whole episode."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from workflow_rl.config import RED_AGENTS, GameConfig, ObservationName
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.images import DECOYS, IMAGES
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.scenario.scenario2 import (
    ACTIONS,
    CHALLENGE_SIZE,
    HOST_NAMES,
    NUM_ACTIONS,
    NUM_HOSTS,
)
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.memory import (
    BEGIN,
    CLOCK,
    BlueMemory,
    memory_layout,
    placeable_decoys,
    recalled,
)
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.observation import simulated
from workflow_rl.sim.state import RedAgent

Step = tuple[NDArray[np.int8], int]  # what Blue was shown after its action, and the action
MEMORY_LAYOUT, RECALLED = memory_layout(SCENARIO2), recalled(SCENARIO2)
MEMORY_SIZE = sum(entry.size for entry in MEMORY_LAYOUT)
RULES = Path(__file__).parents[2] / "docs" / "rules.md"
QUIET = np.zeros(CHALLENGE_SIZE, np.int8)
REMOVE, RESTORE, FIRST_DECOY = 3, 4, 5


def shown(**hosts: str) -> NDArray[np.int8]:
    """Returns a table that shows activities on hosts."""
    table = QUIET.copy()
    for name, activity in hosts.items():
        host = HOST_NAMES.index(name)
        table[4 * host : 4 * host + 2] = {"scan": (1, 0), "exploit": (1, 1)}[activity]
    return table


def sizes_of(network: Network) -> dict[str, int]:
    return {entry.name: entry.size for entry in memory_layout(network) + recalled(network)}


def starts_of(network: Network) -> dict[str, int]:
    sizes = sizes_of(network)
    return dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))


SIZES, STARTS = sizes_of(SCENARIO2), starts_of(SCENARIO2)


def remembered(steps: Sequence[Step], network: Network = SCENARIO2) -> NDArray[np.int8]:
    """Returns what is remembered after an episode's steps."""
    memory = BlueMemory(network, 1, recalls=True)
    quiet = np.zeros((1, 4 * len(network.observed)), np.int8)
    row = memory.update(quiet, np.array([BEGIN]))
    for table, action in steps:
        row = memory.update(table[None], np.array([action]))
    return np.asarray(row[0].copy())


def entry(row: NDArray[np.int8], name: str, host: str | None = None) -> list[int]:
    """Returns the bits of an entry, of one host if it has four for each."""
    bits = row[STARTS[name] : STARTS[name] + SIZES[name]]
    if host is not None:
        bits = bits.reshape(NUM_HOSTS, 4)[HOST_NAMES.index(host)]
    return [int(bit) for bit in bits]


def described(steps: Sequence[Step], network: Network = SCENARIO2) -> NDArray[np.int8]:
    """Says the same from the whole history, host by host, without a word of bits."""
    actions, starts = actions_of(network), starts_of(network)
    row = np.zeros(sum(sizes_of(network).values()), np.int8)
    if steps:
        row[: 4 * len(network.observed)] = steps[-1][0]
    for place, name in enumerate(network.observed):
        host = network.number(name)
        times: tuple[list[int], ...] = ([], [], [], [])
        scans, exploits, restores, removes = times
        for t, (table, action) in enumerate(steps):
            activity = tuple(table[4 * place : 4 * place + 2])
            if activity == (1, 0):
                scans.append(t)
            if activity == (1, 1):
                exploits.append(t)
            if actions.hosts[action] == host:
                kind = int(actions.kinds[action])
                {REMOVE: removes, RESTORE: restores}.get(kind, []).append(t)
        restored = max(restores, default=-1)  # what Blue sees comes after what it does
        exploits = [t for t in exploits if t >= restored]
        last_exploit = max(exploits, default=-1)
        groups = {
            "scans": _recency(scans, len(steps)),
            "exploits": _recency(exploits, len(steps)),
            "fixes": [
                len(exploits) >= 2,
                len(exploits) >= 3,
                any(t > max(last_exploit, restored) for t in removes),
                bool(restores),
            ],
            "restores": [len(steps) - ago in restores for ago in (1, 2, 3, 4)],
        }
        for name, bits in groups.items():
            row[starts[name] + 4 * place : starts[name] + 4 * place + 4] = bits
        standing: set[int] = set()
        at_first_scan: set[int] = set()
        at_latest_scan: set[int] = set()
        for t, (_, action) in enumerate(steps):
            if actions.hosts[action] == host:
                standing = _after(network, host, standing, int(actions.kinds[action]))
            if scans and t == scans[0]:
                at_first_scan = set(standing)
            if t in scans:
                at_latest_scan = set(standing)
        for name, decoys in (
            ("decoys", standing),
            ("scanned_decoys", at_first_scan),
            ("latest_decoys", at_latest_scan),
        ):
            for decoy in decoys:
                row[starts[name] + placeable_decoys(network).index((host, decoy))] = 1
    clock = starts["clock"]
    row[clock : clock + len(CLOCK)] = [len(steps) >= step for step in CLOCK]
    return row


def _recency(times: list[int], now: int) -> list[bool]:
    ages = [now - 1 - t for t in times]
    return [any(age < limit for age in ages) for limit in (2, 4, 8)] + [bool(times)]


def _accepts(network: Network, host: int, standing: set[int], decoy: int) -> bool:
    new, there = DECOYS[decoy], network.hosts[host]
    image = IMAGES[there.image]
    used = {service.port for service in image.services} | {DECOYS[d].opens for d in standing}
    suits = new.windows is None or new.windows is image.windows
    return suits and new.needs_free not in used and there.blue is not Blue.NO_AGENT


def _after(network: Network, host: int, standing: set[int], kind: int) -> set[int]:
    if kind == RESTORE:
        return set()
    decoy = kind - FIRST_DECOY
    if 0 <= decoy < len(DECOYS) and _accepts(network, host, standing, decoy):
        return standing | {decoy}
    return standing


actions = st.integers(0, NUM_ACTIONS - 1)
tables = st.lists(
    st.sampled_from([(0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 1), (0, 0, 1, 1)]),
    min_size=NUM_HOSTS,
    max_size=NUM_HOSTS,
).map(lambda hosts: np.array(hosts, np.int8).ravel())
# Few hosts and kinds, so that things happen to the same host again.
busy = st.sampled_from(
    [
        ACTIONS.parse(f"{kind} {host}")
        for kind in ("Analyse", "Remove", "Restore", "DecoyApache")
        for host in ("User1", "Enterprise0")
    ]
    + [0, 1]
)


def test_its_entries_can_be_named_and_found() -> None:
    memory = simulated("recall", SCENARIO2)
    assert [memory.columns(name).start for name in SIZES] == list(STARTS.values())
    assert memory.columns(list(SIZES)[-1]).stop == memory.size
    assert memory.entries[: len(MEMORY_LAYOUT)] == simulated("memory", SCENARIO2).entries
    start = STARTS["decoys"]
    assert memory.columns("decoys") == slice(start, start + len(placeable_decoys(SCENARIO2)))
    with pytest.raises(KeyError):
        memory.columns("nothing")


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.tuples(tables, actions | busy), max_size=14))
def test_it_is_what_the_whole_history_says(steps: list[Step]) -> None:
    assert remembered(steps).tolist() == described(steps).tolist()


def test_every_action_is_noted_once_and_again() -> None:
    """Every host, kind and decoy; the second time a decoy is refused, or ends what stood."""
    everything = np.arange(NUM_ACTIONS)
    quiet = np.tile(QUIET, (NUM_ACTIONS, 1))
    memory = BlueMemory(SCENARIO2, NUM_ACTIONS, recalls=True)
    memory.update(quiet, np.full(NUM_ACTIONS, BEGIN))
    for times in (1, 2):
        rows = memory.update(quiet, everything)
        for action in range(NUM_ACTIONS):
            assert rows[action].tolist() == described([(QUIET, action)] * times).tolist()


@pytest.mark.parametrize("red_agent", RED_AGENTS)
@pytest.mark.parametrize("observation", ["memory", "recall"])
def test_the_simulator_shows_what_its_table_and_actions_say(
    red_agent: str, observation: ObservationName
) -> None:
    config = GameConfig(red_agent=red_agent, observation=observation, episode_length=40)
    batch, memory = Batch(6, config), BlueMemory(SCENARIO2, 6, recalls=observation == "recall")
    batch.reset(3)
    rng = np.random.default_rng(4)
    rows = memory.update(batch.observation[:, :CHALLENGE_SIZE].copy(), np.full(6, BEGIN))
    assert (batch.observation == rows).all()
    for _ in range(95):  # over the ends of two episodes
        played = rng.integers(0, NUM_ACTIONS, 6)
        ended = batch.step(played)
        table = np.ascontiguousarray(batch.observation[:, :CHALLENGE_SIZE])
        if ended:
            last = np.ascontiguousarray(batch.final_observation[:, :CHALLENGE_SIZE])
            assert (batch.final_observation == memory.update(last, played)).all()
            played = np.full(6, BEGIN)
        assert (batch.observation == memory.update(table, played)).all()
        assert (batch.out.action_mask == memory.action_mask).all()
        shown = simulated(observation, SCENARIO2)
        assert (batch.out.action_mask == shown.action_mask(batch.observation)).all()


def test_a_restore_clears_exploits_and_decoys_but_not_scans() -> None:
    exploited = (shown(Enterprise0="exploit"), 0)
    steps: list[Step] = [
        *((QUIET, ACTIONS.parse("DecoyApache Enterprise0")), (shown(Enterprise0="scan"), 0)),
        *(exploited, exploited),
    ]
    before = remembered(steps)
    after = remembered([*steps, (QUIET, ACTIONS.parse("Restore Enterprise0"))])
    assert entry(before, "fixes", "Enterprise0") == [1, 0, 0, 0]
    assert entry(after, "fixes", "Enterprise0") == [0, 0, 0, 1]
    assert entry(after, "exploits", "Enterprise0") == [0, 0, 0, 0]
    assert entry(after, "scans", "Enterprise0") == [0, 1, 1, 1]
    assert [sum(entry(row, "decoys")) for row in (before, after)] == [1, 0]
    assert sum(entry(after, "scanned_decoys")) == 1  # Red remembers its port


@pytest.mark.parametrize("name", HOST_NAMES)
def test_a_restore_clears_its_own_host_and_no_other(name: str) -> None:
    every = shown(**dict.fromkeys(HOST_NAMES, "exploit"))
    restored = [(every, 0), *[(QUIET, 0)] * 8, (every, 0), (QUIET, 0)]
    restored.append((QUIET, ACTIONS.parse(f"Restore {name}")))
    np.testing.assert_array_equal(remembered(restored), described(restored))


def test_the_clock_tells_the_spans_that_the_page_of_rules_names() -> None:
    (page,) = [line for line in RULES.read_text().splitlines() if line.startswith("| `clock`")]
    steps = [int(number) for number in re.findall(r"\d+", page.split("|")[3])]
    assert len(steps) == 14
    batch = Batch(1, GameConfig(red_agent="sleep", observation="memory"))
    batch.reset(0)
    clock = simulated("memory", SCENARIO2).columns("clock")
    for played in range(1, 100):
        batch.step(np.zeros(1, np.int64))
        assert batch.observation[0, clock].tolist() == [played >= step for step in steps], played


def test_truth_is_memory_and_where_red_is() -> None:
    truth, memory = (
        Batch(20, GameConfig(red_agent="mixed", observation=name)) for name in ("truth", "memory")
    )
    for batch in (truth, memory):
        batch.reset(5)
        for _ in range(30):
            batch.step(np.zeros(20, np.int64))
    assert (truth.observation[:, :MEMORY_SIZE] == memory.observation).all()
    more = truth.observation[:, MEMORY_SIZE:]
    assert more.shape == (20, 2 * 13 + 1 + 3)
    host = np.arange(NUM_HOSTS)
    held = held_hosts(truth.state)[:, None] >> host & 1
    privileged = truth.state["privileged"][:, None] >> host & 1
    assert (more[:, : 2 * NUM_HOSTS] == np.stack([held, privileged], axis=2).reshape(20, -1)).all()
    assert (more[:, 2 * NUM_HOSTS] == (truth.state["ot_down"] != 0)).all()
    assert more[:, 2 * NUM_HOSTS].any()  # some service is stopped
    agents = [RedAgent.BLINE, RedAgent.MEANDER, RedAgent.SLEEP]
    assert (more[:, -3:] == (truth.state["red_agent"][:, None] == agents)).all()
