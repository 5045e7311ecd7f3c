"""Makes the pictures of the documents: `make images RUN=... LANDSCAPE=...`."""

import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

from tests.pages.browser import FLAGS, chromium
from workflow_rl import Cage2Env
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.pages.replay import frames_of, play_agent, write_replay
from workflow_rl.pages.report import write_report
from workflow_rl.runs.store import stored_config
from workflow_rl.scenario.actions import NO_HOST
from workflow_rl.scenario.scenario2 import ACTION_HOST
from workflow_rl.scenario.tables import NOBODY

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"

Scheme = Literal["light", "dark"]


def busy_step(frames: list[dict[str, Any]]) -> int:
    """The step of a compliant fix in which Red got somewhere, with the most hosts at stake."""

    def stakes(step: int) -> tuple[bool, bool, int]:
        frame = frames[step]
        held = sum(host["access"] != "none" for host in frame["hosts"])
        return frame.get("verdict") == "compliant", frame["redWon"], held

    return max(range(len(frames)), key=stakes)


def rendered_step() -> Any:
    """An image by an environment: a decoy met Red, and Blue acted on another host."""
    agent = make_agent("best", rules="main")
    env = Cage2Env(
        red_agent="meander", observation=agent.observation, render_mode="rgb_array", seed=1
    )
    observation, info = env.reset()
    agent.begin(1, seed=1)
    for step in range(env.config.episode_length):
        [action] = agent.act(observation[None], info["action_mask"][None], step)
        observation, _, _, _, info = env.step(action)
        state = env.batch.state[0]
        elsewhere = ACTION_HOST[action] not in (NO_HOST, state["red_target"])
        if state["red_decoy_hit"] != NOBODY and elsewhere:
            return env.render()
    raise AssertionError("no decoy met Red")


def main(run: Path, landscape: Path) -> None:
    Image.fromarray(rendered_step()).save(IMAGES / "rgb_array.png")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        report = write_report([run], folder / "report.html").as_uri()
        agent = PolicyAgent(load_policy(run), "recommended")
        replay = play_agent(agent, stored_config(run).game, 7, who=run.name)
        watched = write_replay(replay, folder / "replay.html").as_uri()
        watched += f"#step={busy_step(frames_of(replay))}"
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        pictures: tuple[tuple[str, str, tuple[int, int], Scheme, str | None], ...] = (
            ("report.png", report, (1400, 900), "light", None),
            ("matters.png", report, (1400, 900), "light", "#run1-matters-section"),
            ("does.png", report, (1400, 900), "light", "#run1-does-section"),
            (
                "landscape.png",
                (landscape / "landscape.html").resolve().as_uri(),
                (1400, 900),
                "light",
                None,
            ),
            ("replay.png", watched, (1400, 900), "dark", None),
            ("report-phone.png", report, (390, 844), "dark", None),
            ("replay-phone.png", watched, (390, 844), "light", None),
        )
        for file, url, (width, height), scheme, anchor in pictures:
            size: ViewportSize = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
            page.goto(url)
            if anchor:
                page.locator(anchor).evaluate("(e) => e.scrollIntoView({behavior: 'instant'})")
            page.wait_for_timeout(1_000)
            page.screenshot(path=IMAGES / file)
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
