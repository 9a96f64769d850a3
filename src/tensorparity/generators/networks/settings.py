"""What networks are made of, and what a generated one is."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.case import Case
from ...core.jsontext import Json
from ...core.policies import PLAIN
from ...core.procedure import Goal
from ...operators.catalogue import layer_names
from .coverage import Use
from .policies import SHARES
from .structure import MAX_CELLS, MAX_VERTICES, Structure


@dataclass(frozen=True)
class NetworkSettings:
    """What networks are made of.

    Args:
        layers: the layers to choose from; all of the catalogue's by default.
        data: names of ``palettes.DATA``; by default all, by their share.
        unit: Muffin-UT: one functional layer per network, with reshaping around it.
        steered: prefer what has not been covered; otherwise exactly the paper's 1 / (c + 1).
        varied: beyond the paper: several inputs and outputs, shared layers, other dtype policies, masks, values other
            than normally distributed ones, windows over the whole input, several kinds of heads, large outputs scaled
            down, and little of what a target is known to lack.
        policies: the dtype policies to draw from, by the shares of ``policies.SHARES``; all by default.
        goal: how far the networks are run.
        training: the training flag of all networks; by default half of them have it.
    """

    layers: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    unit: bool = False
    steered: bool = True
    varied: bool = True
    policies: tuple[str, ...] = ()
    max_cells: int = MAX_CELLS
    max_vertices: int = MAX_VERTICES
    goal: Goal = Goal.UPDATE
    training: bool | None = None

    def names(self) -> tuple[str, ...]:
        return self.layers or tuple(layer_names())

    def scope(self) -> dict[str, Json]:
        """What networks are restricted to; structure apart, two runs of one scope are made of the same things."""
        return {
            "layers": sorted(self.layers),
            "data": sorted(self.data),
            "policies": sorted(self.policy_names()),
            "varied": self.varied,
        }

    def policy_names(self) -> tuple[str, ...]:
        """The policies that networks may have; as in the paper there is but one."""
        return self.policies or (tuple(SHARES) if self.varied else (PLAIN.name,))


@dataclass(frozen=True)
class Network:
    """A generated case, and what it was made of.

    Args:
        structure: what was filled with layers.
        vertices: the node, or the input, that each of its vertices became.
        layers: the functional layers; the others reshape, or make the network fit its loss.
        uses: of these layers, for a ``Coverage`` of the networks that were run.
    """

    case: Case
    data: str
    structure: Structure
    vertices: tuple[str, ...] = field(default=())
    layers: tuple[str, ...] = field(default=())
    uses: tuple[Use, ...] = field(default=())

    @property
    def template(self) -> str:
        return self.structure.template

    @property
    def policy(self) -> str:
        return self.case.procedure.dtype or PLAIN.name
