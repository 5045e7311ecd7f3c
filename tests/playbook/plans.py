"""Plans of any units, for properties."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from workflow_rl.playbook.cacao import playbook_of
from workflow_rl.playbook.plan import Plan, Unit
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.workflow.units import fixable

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
NAMES = st.from_regex(r"\w([\w-]{0,9}\w)?", fullmatch=True)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Two to twelve units of any names, every host in one of them."""
    hosts = draw(st.permutations(fixable(SCENARIO2)))
    names = draw(st.lists(NAMES, min_size=2, max_size=len(hosts), unique_by=str.casefold))
    cuts = sorted(draw(st.permutations(range(1, len(hosts))))[: len(names) - 1])
    parts = zip([0, *cuts], [*cuts, len(hosts)], strict=True)
    return tuple(
        Unit(name, tuple(sorted(hosts[a:b], key=fixable(SCENARIO2).index)))
        for name, (a, b) in zip(names, parts, strict=True)
    )


def written(plan: Plan, **facts: Any) -> dict[str, Any]:
    return playbook_of(plan, "for a test", facts, MOMENT)
