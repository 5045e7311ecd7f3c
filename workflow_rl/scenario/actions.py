"""Blue's actions on a network: index <-> (kind, host), names and parsing."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.images import (
    DECOY_NAMES,
    IMAGE_NAMES,
    IMAGE_PORTS,
    IMAGE_REFUSES,
    NUM_DECOYS,
)
from workflow_rl.scenario.network import WITHOUT_HOST, Blue, Network


class ActionKind(IntEnum):
    """Kinds of Blue action; decoys follow at FIRST_DECOY + decoy index."""

    SLEEP = 0
    MONITOR = 1
    ANALYSE = 2
    REMOVE = 3
    RESTORE = 4
    FIRST_DECOY = 5
    MISINFORM = FIRST_DECOY + NUM_DECOYS


_KINDS: Final = {
    "Sleep": ActionKind.SLEEP,
    "Monitor": ActionKind.MONITOR,
    "Analyse": ActionKind.ANALYSE,
    "Remove": ActionKind.REMOVE,
    "Restore": ActionKind.RESTORE,
    **{name: ActionKind.FIRST_DECOY + decoy for decoy, name in enumerate(DECOY_NAMES)},
    "Misinform": ActionKind.MISINFORM,
}
NO_HOST: Final = -1


@dataclass(frozen=True)
class Actions:
    """What Blue can do on a network."""

    network: Network

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(size,) such as `Sleep` and `Restore Op_Server0`."""
        named: list[str] = []
        for kind in self.network.actions:
            hosts = self.network.host_names
            named += [kind] if kind in WITHOUT_HOST else [f"{kind} {host}" for host in hosts]
        return tuple(named)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.names)

    @cached_property
    def kinds(self) -> NDArray[np.int8]:
        """(size,) an ActionKind each, FIRST_DECOY + d for decoy d."""
        return np.array([_KINDS[name.partition(" ")[0]] for name in self.names], np.int8)

    @cached_property
    def hosts(self) -> NDArray[np.int8]:
        """(size,) on which host, or NO_HOST."""
        numbers = {name: h for h, name in enumerate(self.network.host_names)}
        return np.array(
            [numbers.get(name.partition(" ")[2], NO_HOST) for name in self.names], np.int8
        )

    def first(self, kind: int) -> int | None:
        """Returns the index of the first action of a kind; None if Blue has none."""
        found = np.flatnonzero(self.kinds == kind)
        return int(found[0]) if len(found) else None

    @cached_property
    def useful(self) -> NDArray[np.int64]:
        """Those that can matter.

        No action on Red's foothold, where nothing that Blue does has an effect on Red, none where
        Blue's actions have no effect, no decoy where it is never accepted or, on hosts beside a
        target that lead nowhere, hardly ever met, and no Monitor, which does what Sleep does.
        """
        network = self.network
        targets = network.roles.targets
        beside = {network.zone_of[target] for target in targets}
        kept = []
        for action, (kind, host) in enumerate(zip(self.kinds, self.hosts, strict=True)):
            if host == NO_HOST:
                if kind == ActionKind.SLEEP:
                    kept.append(action)
                continue
            on = network.hosts[host]
            if on.name == network.foothold or on.blue in (Blue.HIDDEN, Blue.NO_AGENT):
                continue
            image = IMAGE_NAMES.index(on.image)
            decoy = kind - ActionKind.FIRST_DECOY
            leads = any(reveal.host != on.name for reveal in on.reveals)
            is_met = leads or on.name in targets or network.zone_of[on.name] not in beside
            refused = decoy < NUM_DECOYS and IMAGE_REFUSES[image, decoy] & IMAGE_PORTS[image]
            if decoy < 0 or (is_met and not refused):
                kept.append(action)
        return np.array(kept, np.int64)

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {name.casefold(): index for index, name in enumerate(self.names)}

    def parse(self, text: str) -> int:
        """Returns the index of an action given as its number or its name.

        Args:
            text: `139`, `Restore Op_Server0` or the same in any case.

        Raises:
            InvalidInputError: no such action.
        """
        words = " ".join(text.split())
        if words.isdecimal() and len(words) <= len(str(self.size)) and int(words) < self.size:
            return int(words)
        if (index := self._by_name.get(words.casefold())) is not None:
            return index
        kinds = [kind for kind in self.network.actions if kind not in WITHOUT_HOST]
        alone = [kind for kind in self.network.actions if kind in WITHOUT_HOST]
        raise InvalidInputError(
            f"unknown action {shown(text)}: give 0 to {self.size - 1}, {', '.join(alone)}, or one "
            f"of {', '.join(kinds)} followed by a host ({', '.join(self.network.host_names)})"
        )


@cache
def actions_of(network: Network) -> Actions:
    """Returns Blue's actions on a network."""
    return Actions(network)
