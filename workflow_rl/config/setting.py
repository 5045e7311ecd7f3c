"""How a setting is described: once, where it is declared; everything else is derived from that.

A configuration declares its settings as fields of a frozen dataclass:

    @settings
    class GameConfig:
        episode_length: int = setting(
            "steps of an episode", "--max-steps", default=100, within=(1, 1_000)
        )

From the type and the description come the check of the value and its sentence, the flag and its
help (`cli/arguments.py`), the stored form (`stored`, `restored`) and the table of docs/settings.md.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, wraps
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from pydantic import ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from workflow_rl.config.checks import as_index, not_allowed, numbers_allowed, unknown
from workflow_rl.errors import InvalidInputError, shown

T = TypeVar("T")
_WRONG_LISTS = ("tuple_type", "missing", "too_long")  # pydantic's names
_METAVARS = {int: "N", float: "X", str: "NAME"}


@dataclass(frozen=True)
class Setting:
    """Everything there is to know about one setting."""

    text: str
    """What it is, with its unit: one sentence, begun small and without a full stop."""
    flags: tuple[str, ...]
    """Its flag on the command line, and other names of that flag; none if it has no flag."""
    default: Any
    _: KW_ONLY
    within: tuple[float, float | None] | None = None
    """The least and the highest value allowed; of a list, of each of its parts."""
    above: float | None = None
    """What a value must be greater than, where there is no least one."""
    unset: str | None = None
    """What None, or False, means."""
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    """Of the names to choose from, where they do not speak for themselves."""
    called: str | None = None
    """How a sentence about a wrong value names it; None: by its name."""
    metavar: str | None = None
    """What help shows for the flag's value; None: by its type."""
    former: tuple[str, ...] = ()
    """Earlier names: still taken as keywords and in configuration files."""
    basic: bool = False
    """Whether `--help` shows its flag; `--help-all` shows every flag."""
    repeated: bool = False
    """Of a list: whether its flag gives one part and may be given several times."""
    read: Callable[[Any], Any] | None = None
    """Turns a given value into the one that is checked and stored."""
    name: str = ""
    """That of the field; `settings` fills it in, and the type."""
    hint: Any = None
    """The field's type."""

    @cached_property
    def type(self) -> Any:
        """The type of a value: without None."""
        if get_origin(self.hint) in (Union, UnionType):
            return next(part for part in get_args(self.hint) if part is not NoneType)
        return self.hint

    @property
    def is_list(self) -> bool:
        """Whether it has several parts."""
        return get_origin(self.type) is tuple

    @property
    def part_type(self) -> Any:
        """The type of each part of a list, or that of the value."""
        return get_args(self.type)[0] if self.is_list else self.type

    @property
    def choices(self) -> tuple[str, ...]:
        """The names to choose from, if there are such."""
        return get_args(self.part_type) if get_origin(self.part_type) is Literal else ()

    @property
    def placeholder(self) -> str:
        """What help shows for the flag's value."""
        part = _METAVARS.get(self.part_type, "NAME")
        return self.metavar or (f"{part},{part}" if self.is_list else part)

    @property
    def allowed(self) -> str:
        """What a value, or each part of a list, must be."""
        if self.part_type in (int, float):
            kind = "whole number" if self.part_type is int else "number"
            low, high = self.within or (None, None)
            return numbers_allowed(kind, low, high, self.above)
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return {bool: "True or False", str: "text"}.get(self.part_type, "a mapping of names")

    @property
    def allowed_list(self) -> str:
        """What a list must be."""
        parts = get_args(self.type)
        length = "" if Ellipsis in parts else f" of {len(parts)}"
        return f"a list{length}, each part {self.allowed}"

    @property
    def help(self) -> str:
        """What it is, with the names to choose from."""
        told = [
            f"{name} ({self.meanings[name]})" if name in self.meanings else name
            for name in self.choices
        ]
        if not told:
            return self.text
        return f"{self.text}: {(' or ' if len(told) == 2 else ', ').join(told)}"

    def shown(self, value: Any) -> str:
        """Returns a value as it is written on the command line."""
        if value is None or value is False or (value == () and self.unset):
            return self.unset or str(value)
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

    def check(self, value: object) -> Any:
        """Returns the value in its standard form.

        Raises:
            InvalidInputError: it is not allowed.
        """
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise self.refusal(error.errors(include_url=False)[0]) from None

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        annotated: Any = Annotated[self.hint, self]
        return TypeAdapter(annotated)

    def refusal(self, problem: Mapping[str, Any]) -> InvalidInputError:
        """Returns the sentence for what pydantic found wrong with a value."""
        said = problem.get("ctx", {}).get("error")
        if isinstance(said, InvalidInputError):
            return said
        value = problem["input"]
        if problem["type"] in _WRONG_LISTS:
            return not_allowed(self.name, value, self.allowed_list)
        if self.choices:
            return unknown(self.called or self.name.replace("_", " "), value, self.choices)
        return not_allowed(self.called or self.name, value, self.allowed)

    # --- its check

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Returns pydantic's check of the type, held to the range and to exact types."""
        exact: CoreSchema = self._exact(handler(source))
        return exact if self.read is None else _before(self.read, exact)

    def _exact(self, schema: Any) -> Any:
        """Returns a check that takes no number for text, no truth value for a number."""
        match schema["type"]:
            case "nullable":
                return schema | {"schema": self._exact(schema["schema"])}
            case "tuple":
                items = [self._exact(item) for item in schema["items_schema"]]
                return _before(_as_tuple, schema | {"items_schema": items})
            case "int":
                return _before(_as_int, schema | {"strict": True} | self._range())
            case "float":
                return schema | {"strict": True, "allow_inf_nan": False} | self._range()
            case "str":
                return _before(_as_text, schema | {"strict": True})
            case "bool":
                return schema | {"strict": True}
            case _:
                return schema

    def _range(self) -> dict[str, float]:
        low, high = self.within or (None, None)
        bounds = {"ge": low, "le": high, "gt": self.above}
        return {name: bound for name, bound in bounds.items() if bound is not None}


def _before(change: Callable[[Any], Any], schema: Any) -> Any:
    return core_schema.no_info_before_validator_function(change, schema)


def _as_int(value: Any) -> Any:
    number = as_index(value)  # numpy's integers are integers
    return value if number is None else number


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


# --- configurations


def setting(text: str, *also: str, default: T, flag: str | None = "", **more: Any) -> T:
    """Declares a field of a configuration.

    Args:
        text: what it is: one sentence, begun small and without a full stop.
        *also: other names of its flag.
        default: its value if it is not given.
        flag: its flag, if that is not the field's name: n_envs has --n-envs; None for none.
        **more: what else there is to say, see `Setting`.
    """
    return cast(T, Setting(text, () if flag is None else (flag, *also), default, **more))


@dataclass_transform(frozen_default=True, field_specifiers=(setting,))
def settings(cls: type[T]) -> type[T]:
    """Makes a frozen dataclass of a class, whose values are checked by their description.

    A wrong value raises an `InvalidInputError` of one sentence. `__post_init__` may check what
    only several settings together show.

    Raises:
        TypeError: a field is neither described nor a configuration itself.
    """
    fields: dict[str, Setting] = {}
    for name, hint in cls.__annotations__.items():
        found = vars(cls).get(name)
        if isinstance(found, Setting):
            flags = tuple(flag or f"--{name.replace('_', '-')}" for flag in found.flags)
            fields[name] = dataclasses.replace(found, flags=flags, name=name, hint=hint)
            cls.__annotations__[name] = Annotated[hint, fields[name]]
            setattr(cls, name, found.default)
        elif not dataclasses.is_dataclass(hint):
            raise TypeError(f"{name} has no description: declare it with setting()")
    made: Any = checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
    made.__settings__ = fields
    construct = made.__init__

    @wraps(construct)
    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807
        try:
            construct(self, *args, **current_names(made, given))
        except ValidationError as error:
            raise _refusal(made, error) from None

    made.__init__ = __init__
    return cast(type[T], made)


def setting_fields(cls: Any) -> Mapping[str, Setting]:
    """Returns the settings of a configuration by their names, in the order of declaration."""
    fields: Mapping[str, Setting] = cls.__settings__
    return fields


def values_of(config: Any) -> dict[str, Any]:
    """Returns the settings of a configuration with their values, each as it is."""
    return {name: getattr(config, name) for name in setting_fields(type(config))}


def current_names(cls: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings by their present names.

    One given by an earlier name counts: `dataclasses.replace` adds all the present ones.
    """
    former = {old: field.name for field in setting_fields(cls).values() for old in field.former}
    by_age = sorted(given, key=lambda name: name in former)
    return {former.get(name, name): given[name] for name in by_age}


def stored(config: Any) -> dict[str, Any]:
    """Returns a configuration as plain data, ready for JSON."""
    data: dict[str, Any] = to_jsonable_python(config)
    return data


def restored(cls: type[T], data: object, what: str) -> T:
    """Returns the configuration that `stored` gave.

    Args:
        cls: what it is to be.
        data: what was stored.
        what: how a sentence names it.

    Raises:
        InvalidInputError: it is not such data, lacks a part, or has one that is not known.
    """
    kind: Any = cls
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"not a {what} of this version (it is not a table of settings)")
    lacking = [f.name for f in dataclasses.fields(kind) if f.name not in data]
    if lacking:
        raise InvalidInputError(f"not a {what} of this version (it lacks {', '.join(lacking)})")
    try:
        return TypeAdapter(cls).validate_python(data)
    except ValidationError as error:
        refused = _refusal(cls, error)
        if isinstance(refused, _UnknownSettingError):
            raise InvalidInputError(f"not a {what} of this version ({refused})") from None
        raise refused from None


class _UnknownSettingError(InvalidInputError):
    """A setting was given that there is not."""


def _refusal(cls: Any, error: ValidationError) -> InvalidInputError:
    """Returns the one sentence that says what is wrong with a configuration."""
    problem = error.errors(include_url=False)[0]
    said = problem.get("ctx", {}).get("error")
    if isinstance(said, InvalidInputError):
        return said
    owner, where = cls, "the configuration"
    for step in problem["loc"]:
        kinds = {field.name: field.type for field in dataclasses.fields(owner)}
        names = list(kinds)
        name = names[step] if isinstance(step, int) and step < len(names) else step
        if name not in kinds:
            sentence = (
                f"{owner.__name__} has no setting {shown(name)}: there are {', '.join(names)}"
            )
            return _UnknownSettingError(sentence)
        where = str(name)
        if where in setting_fields(owner):
            return setting_fields(owner)[where].refusal(problem)
        owner = kinds[where]
    return not_allowed(where, problem["input"], f"a {owner.__name__}")
