"""The page that replays an episode."""

import time
from pathlib import Path
from typing import Any, Final

from workflow_rl.files import write_named
from workflow_rl.report.figures.timeline import timeline_figure
from workflow_rl.report.page import PLOTLY, render
from workflow_rl.report.replay import Replay, frames_of
from workflow_rl.scenario.tables import HOST_NAMES, HOSTS, OP_SERVER0, SUBNET_OF, USER0, Subnet
from workflow_rl.workflow.units import TYPE_UNITS, Units

_ORDER_OF_SUBNETS: Final = (Subnet.USER, Subnet.ENTERPRISE, Subnet.OPERATIONAL)


def write_replay(replay: Replay, output: Path) -> Path:
    """Writes the replay as one HTML file."""
    write_named(output, replay_html(replay).encode())
    return output


def replay_html(replay: Replay, written: str | None = None) -> str:
    """Returns the page.

    Args:
        replay: the episode.
        written: when, by default now.
    """
    frames = frames_of(replay)
    last = replay.episode.moments[-1]
    return render(
        "replay.html",
        scripts=(PLOTLY, "page.js", "replay.js"),
        styles=("page.css", "replay.css"),
        data={
            "frames": frames,
            "hostNames": HOST_NAMES,
            "subnetNames": [subnet.name.lower() for subnet in Subnet],
            "routes": [
                [host, HOST_NAMES.index(reveals)]
                for host, it in enumerate(HOSTS)
                if (reveals := it.reveals) is not None
            ],
        },
        figures={"timeline": timeline_figure(frames)},
        replay=replay,
        frames=frames,
        subnets=_subnets(TYPE_UNITS if replay.order is None else replay.order.units),
        total=last.total,
        fixes=_count_fixes(frames),
        written=written or time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    )


def _subnets(units: Units) -> list[dict[str, Any]]:
    """Returns the subnets in the direction of the attack, each with its hosts."""
    return [
        {
            "index": int(subnet),
            "name": subnet.name.capitalize(),
            "hosts": [
                {
                    "index": host,
                    "name": name,
                    "unit": units.names[int(units.unit_of[host])],
                    "note": {USER0: "Red starts here", OP_SERVER0: "OT service"}.get(host, ""),
                    "has_ot": host == OP_SERVER0,
                }
                for host, name in enumerate(HOST_NAMES)
                if int(SUBNET_OF[host]) == subnet
            ],
        }
        for subnet in _ORDER_OF_SUBNETS
    ]


def _count_fixes(frames: list[dict[str, Any]]) -> dict[str, int]:
    verdicts = [frame.get("verdict") for frame in frames]
    return {word: verdicts.count(word) for word in ("compliant", "violation")}
