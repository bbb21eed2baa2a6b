"""Arrays, lists, maps, and rows made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unit.plan.conftest import Meanings, Rows


def test_elements(means: Meanings) -> None:
    means(
        {
            "(array[1, 2, 3])[2]": "2",
            "(array[1, 2, 3])[9]": None,
            "(array[1, 2, 3])[0]": None,
            "(array[1, 2, 3])[2:3]": "{2,3}",
            "(list[1, 2])[1]": "1",
            "map['a' => 1] -> 'a'": "1",
            "map['a' => 1] -> 'b'": None,
            "map['a' => 1] ? 'a'": "true",
            "array_length(array[1, 2], 1)": "2",
            "cardinality(array[1, 2])": "2",
            "list_length(list[1, 2])": "2",
            "map_length(map['a' => 1])": "1",
            "array_position(array['a', 'b'], 'b')": "2",
            "array_position(array['a'], 'z')": None,
        }
    )


def test_operations(means: Meanings) -> None:
    means(
        {
            "array[1, 2] || array[3]": "{1,2,3}",
            "array[1, 2] @> array[1]": "true",
            "array[1] <@ array[1, 2]": "true",
            "array[1, 2] && array[2, 3]": "true",
            "array_append(array[1], 2)": "{1,2}",
            "array_remove(array[1, 2, 1], 1)": "{2}",
            "array_cat(array[1], array[2])": "{1,2}",
            "list_append(list[1], 2)": "{1,2}",
            "map['a' => 1, 'a' => 2]": "{a=>2}",
        }
    )


def test_unnest_and_series(rows: Rows) -> None:
    assert rows("select x, y from unnest(array['a', 'b']) with ordinality as u(x, y)") == [("a", 1), ("b", 2)]
    assert rows("select * from generate_series(1, 3)") == [(1,), (2,), (3,)]
    assert rows("select * from generate_series(3, 1)") == []
    assert rows("select * from generate_series(5, 1, -2)") == [(1,), (3,), (5,)]
    assert rows("select b, g from t, generate_series(1, a) g where b < 40") == [
        (10, 1),
        (20, 1),
        (30, 1),
        (30, 2),
    ]
    assert rows("select b, u from t left join unnest(array[a]) u on true") == [
        (10, 1),
        (20, 1),
        (30, 2),
        (40, None),
    ]
    assert rows("select a, unnest(array[1, 2]) from t where b = 10") == [(1, 1), (1, 2)]
