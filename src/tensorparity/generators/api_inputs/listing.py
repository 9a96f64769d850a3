"""The public functions of a library, as its worker listed them (``Goal.APIS``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.jsontext import Json

#: Never set although they may be: who sets them asks for a device, a place to write, a name.
_NEVER_SET = frozenset(
    [
        "device",
        "out",
        "name",
        "layout",
        "pin_memory",
        "requires_grad",
        "generator",
        "dropout_p",
        "out_sharding",
        "sharding",
        "memory_format",
        "file",
        "callback",
        "axis_name",
        "axis_index_groups",
        "autotune",
        "jit_compile",
        "backend",
        "extra_categorical",
        "compile",
        "where",
        "initial",
        "debug",
        "ragged_batch",
        "use_gpu",
        "wrapper",
        "implementation",
        "sparse",
        "ragged",
        "input_tensor",
        "_stacklevel",
    ]
)


#: Ends of names of what takes objects that we do not make.
_OBJECTS = ("_regularizer", "_constraint", "_config", "_policy", "_optimizer", "_fn", "_func", "_callback")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, as the signature and the registry have it.

    Args:
        type: the annotation's text, empty where there is none.
        choices: strings that the registry allows; ``dtypes`` likewise the names of dtypes.
        registry: the type is the registry's, which admits nothing else.
        same_type: parameters with the same word here have the same dtype.
        of_call: belongs to the call of an object that is made first.
    """

    name: str
    required: bool = True
    default: Any = None
    type: str = ""
    keyword: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    same_type: str = ""
    minimum: int | None = None
    registry: bool = False
    of_call: bool = False

    @property
    def settable(self) -> bool:
        return self.required or not (
            self.name in _NEVER_SET or self.name.startswith("_") or self.name.endswith(_OBJECTS)
        )

    @classmethod
    def from_json(cls, data: Json, *, of_call: bool = False) -> Parameter:
        return cls(
            name=data["name"],
            required="default" not in data,
            default=data.get("default"),
            type=data.get("type", ""),
            keyword=data.get("keyword", False),
            many=data.get("many", False),
            choices=tuple(data.get("choices", ())),
            dtypes=tuple(data.get("dtypes", ())),
            same_type=data.get("same_type", ""),
            minimum=data.get("minimum"),
            registry=data.get("registry", False),
            of_call=of_call,
        )


@dataclass(frozen=True, slots=True)
class Api:
    """A public function, class, method or raw operation.

    Args:
        overloads: parameters of each way to call it, the first being the usual one.
        aliases: further public names of the same callable.
        features: what else the library says of it, in single words.
    """

    name: str
    kind: str
    overloads: tuple[tuple[Parameter, ...], ...]
    doc: str = ""
    aliases: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @property
    def has_settings(self) -> bool:
        """Whether there is anything to set besides tensors."""
        return any(not item.required and item.settable for way in self.overloads for item in way)

    @classmethod
    def from_json(cls, data: Json) -> Api:
        ways = [data["parameters"] or [], *data.get("overloads", [])]
        called = tuple(Parameter.from_json(item, of_call=True) for item in _plain(data.get("call") or []))
        overloads = tuple(tuple(Parameter.from_json(item) for item in _plain(way)) + called for way in ways)
        features = tuple(data.get("features", ()))
        return cls(data["name"], data["kind"], overloads, data.get("doc", ""), tuple(data.get("aliases", ())), features)


def _plain(parameters: list[Json]) -> Iterator[Json]:
    """Without ``**kwargs``."""
    return (item for item in parameters if not item.get("any"))


@dataclass(frozen=True)
class ApiListing:
    """All public functions of a library, by name; ``excluded`` has what is never called, with the reason.

    Args:
        samples_only: calls are those that the library brings along; none are made up.
    """

    library: str
    apis: Mapping[str, Api]
    excluded: Mapping[str, str] = field(default_factory=dict)
    samples_only: bool = False

    @classmethod
    def from_json(cls, data: Json) -> ApiListing:
        apis = {item["name"]: Api.from_json(item) for item in data["apis"]}
        return cls(data["library"], apis, dict(data["excluded"]), bool(data.get("samples_only", False)))

    def canonical(self, name: str) -> str | None:
        """The name an alias is listed under."""
        if name in self.apis:
            return name
        return next((api.name for api in self.apis.values() if name in api.aliases), None)
