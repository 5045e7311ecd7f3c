"""Networks in words."""

from workflow_rl.scenario.network import Network, Reach, Reachability, Zone

_DIGITS = 12  # of a digest that are shown


def summary_of(network: Network) -> str:
    """Returns what a network is, in one line."""
    how = {
        Reachability.ROUTES: "Red goes on from what it holds",
        Reachability.CYBORG: "CybORG's rule of reachability",
    }[network.reachability]
    return (
        f"{_counted(len(network.hosts), 'host')} in {_counted(len(network.zones), 'zone')}; {how}; "
        f"digest {network.digest[:_DIGITS]}"
    )


def reached_from(network: Network, zone: Zone) -> str:
    """Returns when Red reaches a zone."""
    match zone.reach:
        case Reach.OPEN:
            when = "always reached"
        case Reach.CLOSED:
            when = "never reached"
        case Reach.GATED:
            when = f"reached while Red holds one of {', '.join(network.roles.pivots) or 'no host'}"
        case Reach.ROUTES if zone.name == network.home:
            when = "Red's own"
        case Reach.ROUTES:
            when = f"reached from {', '.join(zone.routes)}" if zone.routes else "never reached"
    ports = "" if zone.ports is None else f", ports {', '.join(map(str, zone.ports)) or 'none'}"
    return when + ports


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
