"""Typed results to JSON and back, and what their schemas say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jsonschema
import numpy as np
import pytest

from benchvise.documents import computed, decode, encode, in_json, schema
from benchvise.text import Untrusted


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel of a cart."""

    size: float
    """Diameter in m."""

    colour: Colour = Colour.RED
    spokes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cart:
    """What has wheels."""

    name: str
    wheels: tuple[Wheel, ...]
    load: float | None = None
    """Mass in kg; null when it is not known."""
    notes: tuple[str, ...] = field(default=(), metadata=in_json(omit_default=True))
    price: float = field(default=0.0, metadata=in_json(digits=2))
    labels: Mapping[str, str] = field(default_factory=dict)
    side: Literal["left", "right"] = "left"
    remark: Untrusted = field(default=Untrusted(""), metadata=in_json(omit_default=True))
    secret: object = field(default=None, metadata=in_json(hidden=True))

    @computed.before("name")
    def key(self) -> str:
        """What tells it from all others."""
        return f"cart/{self.name}"

    @computed
    def spare(self) -> Wheel | None:
        """The last wheel, if there are more than two."""
        return self.wheels[-1] if len(self.wheels) > 2 else None


CART = Cart("hay", (Wheel(0.5, Colour.BLUE, (3, 4)),), price=1.2345, labels={"a": "b"}, secret=1)


def test_fields_become_keys_in_their_order() -> None:
    assert json.dumps(encode(CART)) == json.dumps(
        {
            "key": "cart/hay",
            "name": "hay",
            "wheels": [{"size": 0.5, "colour": "blue", "spokes": [3, 4]}],
            "load": None,
            "price": 1.23,
            "labels": {"a": "b"},
            "side": "left",
            "spare": None,
        }
    )


def test_a_default_that_is_omitted_is_written_when_it_is_another() -> None:
    assert encode(Cart("a", (), notes=("new",)))["notes"] == ["new"]


@pytest.mark.parametrize(
    ("value", "json_value"),
    [
        (math.nan, None),
        (math.inf, None),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        ({Colour.RED: 1, 2: 3}, {"red": 1, "2": 3}),
        (frozenset({"b", "a"}), ["a", "b"]),
        (Path("/a"), "/a"),
        (Colour.RED, "red"),
        (True, True),
    ],
)
def test_values_become_builtins(value: object, json_value: object) -> None:
    encoded = encode(value)
    assert encoded == json_value
    assert type(encoded) is type(json_value)
    json.dumps(encoded, allow_nan=False)


def test_what_has_no_json_form_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        encode([object()])
    with pytest.raises(TypeError, match="type has no JSON form"):
        encode(Cart)


def test_a_document_is_read_as_it_was_written() -> None:
    shown = {**encode(CART), "price": 1.2345, "unknown": 1}
    read = decode(Cart, shown)
    assert read == Cart(CART.name, CART.wheels, price=1.2345, labels={"a": "b"})
    remark = Untrusted("\x1b[2Jx")
    assert decode(Cart, encode(Cart("a", (), remark=remark))).remark == remark
    assert decode(tuple[Wheel, ...], [{"size": 1}]) == (Wheel(1.0),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 5}, "name: expected str, got int"),
        ({"wheels": [{"size": 1}, {"size": "big"}]}, r"wheels\[1\].size: expected float, got str"),
        ({"wheels": [{}]}, r"wheels\[0\]: object missing required field size"),
        ({"wheels": [{"size": 1, "colour": "mud"}]}, r"wheels\[0\].colour: invalid enum value"),
        ({"remark": 5}, "remark: expected text, got int"),
        ({"side": "top"}, "side: invalid enum value"),
        ({"price": True}, "price: expected float, got bool"),
        ({"labels": {"a": 1}}, r"labels\[...\]: expected str, got int"),
    ],
)
def test_an_error_names_the_path(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(Cart, {**encode(CART), **change})


def test_what_is_no_object_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected object, got str"):
        decode(Cart, "cart")


@dataclass(frozen=True, slots=True)
class Nest:
    """A class that holds itself."""

    inner: Nest | None = None


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"inner": deep}
    with pytest.raises(ValueError, match="nested too deeply"):
        decode(Nest, deep)


def test_a_schema_holds_what_is_written_and_says_what_fields_mean() -> None:
    described = schema(Cart)
    cart, wheel = described["$defs"]["Cart"], described["$defs"]["Wheel"]
    assert described["$ref"] == "#/$defs/Cart"
    assert list(cart["properties"]) == [
        "key", "name", "wheels", "load", "notes", "price", "labels", "side",
        "remark", "spare",
    ]  # fmt: skip
    assert "notes" not in cart["required"]
    assert {"key", "spare", "load"} <= set(cart["required"])
    assert cart["description"] == "What has wheels."
    assert cart["properties"]["load"]["description"] == "Mass in kg; null when it is not known."
    assert cart["properties"]["key"] == {
        "type": "string", "description": "What tells it from all others.",
    }  # fmt: skip
    assert wheel["properties"]["size"] == {"type": "number", "description": "Diameter in m."}
    jsonschema.validate(encode(CART), described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**encode(CART), "key": 5}, described)


def test_a_schema_of_a_list_of_documents() -> None:
    described = schema(list[Wheel])
    jsonschema.validate(encode([Wheel(1.0)]), described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{}], described)


@pytest.mark.parametrize("kind", [complex, list[bytes], Mapping[str, complex]])
def test_a_type_without_a_json_form_has_no_schema(kind: Any) -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        schema(kind)


def test_a_class_may_hold_itself() -> None:
    described = schema(Nest)
    jsonschema.validate({"inner": {"inner": None}}, described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"inner": {"inner": 5}}, described)


def test_pairs_have_a_type_each() -> None:
    described = schema(tuple[str, int])
    jsonschema.validate(["a", 1], described)
    for wrong in (["a"], ["a", "b"], ["a", 1, 2]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, described)


def _names(wheels: tuple[Wheel, ...]) -> tuple[str, ...]:
    return tuple(str(wheel.colour) for wheel in wheels)


class Point(NamedTuple):
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A class whose document differs from it."""

    wheels: tuple[Wheel, ...] = field(metadata=in_json(through=_names, name="colours"))
    cart: Cart = field(metadata=in_json(inline=True))
    place: Point = field(default_factory=lambda: Point(0.5, "here"))
    reason: str = field(default="", metadata=in_json(omit_if=lambda shown: not shown.wheels))

    @computed.before("wheels", name="class")
    def family(self) -> str:
        """Of all of it."""
        return "show"


def test_a_document_may_differ_from_its_type() -> None:
    shown = encode(Shown((Wheel(1),), CART))
    assert list(shown) == ["class", "colours", *encode(CART), "place", "reason"]
    assert (shown["class"], shown["colours"], shown["place"]) == ("show", ["red"], [0.5, "here"])
    jsonschema.validate(shown, schema(Shown))
    empty = encode(Shown((), CART))
    assert "reason" not in empty
    jsonschema.validate(empty, schema(Shown))
    for wrong in ({"colours": [1]}, {"place": [1]}, {"place": ["x", "y"]}, {"key": None}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**shown, **wrong}, schema(Shown))
    assert decode(Point, [1, "b"]) == Point(1.0, "b")


def test_two_classes_of_one_name_are_no_schema() -> None:
    def another() -> type:
        @dataclass
        class Wheel:
            a: int

        return Wheel

    with pytest.raises(TypeError, match="several classes are called Wheel"):
        schema(Wheel | another() | None)
