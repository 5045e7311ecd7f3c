"""Networks in words."""

from workflow_rl.scenario.attackers import Course, forecasts
from workflow_rl.scenario.network import Network, Reach, Reachability, Zone

_DIGITS = 12  # of a digest that are shown


def summary_of(network: Network) -> str:
    """Returns what a network is, in one line."""
    return (
        f"{_counted(len(network.hosts), 'host')} in {_counted(len(network.zones), 'zone')}; "
        f"{reachability_of(network)}; digest {network.digest[:_DIGITS]}"
    )


def reachability_of(network: Network) -> str:
    """Says whose rule of reachability a network uses."""
    return {
        Reachability.ROUTES: "Red goes on from what it holds",
        Reachability.CYBORG: "CybORG's rule of reachability",
    }[network.reachability]


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


def about_game_on(network: Network) -> tuple[str, ...]:
    """Returns what to know before a game there: how Red moves, and whether B_line can play."""
    told = f"network {network.name}: {summary_of(network)}"
    bline, _ = forecasts(network)
    if bline.course is Course.PLAYS:
        return (told,)
    return told, f"B_line {bline.course} here, and then sleeps: {bline.sentence}"
