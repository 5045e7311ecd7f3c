"""The page of a network: its zones as columns, with their hosts."""

from pathlib import Path

from workflow_rl.files import write_named
from workflow_rl.pages.page import render
from workflow_rl.scenario.images import IMAGES
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.summary import reached_from, summary_of


def write_network_page(path: Path, network: Network) -> None:
    """Writes the page, which needs nothing else."""
    hosts = {host.name: host for host in network.hosts}
    page = render(
        "network.html",
        assets=("network.css",),
        data={},
        figures=None,
        network=network,
        summary=summary_of(network),
        zones=[
            (zone, reached_from(network, zone), [hosts[host] for host in zone.hosts])
            for zone in network.zones
        ],
        images=IMAGES,
    )
    write_named(path, page)
