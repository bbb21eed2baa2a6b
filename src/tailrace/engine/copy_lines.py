"""Lines of COPY data as columns of text: whole columns at a time, single values only where a backslash hides one."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tailrace.errors import DataError
from tailrace.statements.contract import CopyStyle

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


class BadData(DataError):
    sqlstate = "22P04"


def columns_of_text(data: str, names: Sequence[str], style: CopyStyle) -> pa.Table:
    """Tabs between columns, `\\N` for NULL, backslash escapes; a line of `\\.` alone ends the data."""
    lines = data.replace("\r\n", "\n").split("\n")
    if "\\." in lines:
        lines = lines[: lines.index("\\.")]
    elif lines[-1] == "":
        lines.pop()
    if style.delimiter != "\t":
        fields = pa.array([_split(line, style.delimiter) for line in lines], pa.list_(pa.string()))
    else:
        fields = pc.split_pattern(pa.array(lines, pa.string()), "\t")
    _check_counts(fields, names)
    columns = [pc.list_element(fields, i) if lines else pa.array([], pa.string()) for i in range(len(names))]
    return pa.table(dict(zip(names, (_unescaped(column, style.null) for column in columns), strict=True)))


def _split(line: str, delimiter: str) -> list[str]:
    """At delimiters that no backslash precedes."""
    return re.split(rf"(?<!\\){re.escape(delimiter)}", line)


def _check_counts(fields: pa.Array, names: Sequence[str]) -> None:
    counts = pc.list_value_length(fields)
    few = pc.index(pc.less(counts, len(names)), True).as_py()
    many = pc.index(pc.greater(counts, len(names)), True).as_py()
    if few >= 0:
        missing = names[counts[few].as_py()]
        raise BadData(f'missing data for column "{missing}"', detail=f"Line {few + 1} of the data.")
    if many >= 0:
        raise BadData("extra data after last expected column", detail=f"Line {many + 1} of the data.")


def _unescaped(texts: pa.Array, null: str) -> pa.Array:
    present = pc.if_else(pc.equal(texts, null), pa.scalar(None, pa.string()), texts)
    escaped = pc.fill_null(pc.match_substring(present, "\\"), False)
    if not pc.any(escaped).as_py():
        return present
    texts = present.to_pylist()
    return pa.array([None if text is None else _ESCAPE.sub(_character, text) for text in texts], pa.string())


def _character(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)


def columns_of_csv(data: str, names: Sequence[str], style: CopyStyle) -> pa.Table:
    """Quotes around what holds a delimiter, a quote or a line's end; NULL is the null text without quotes."""
    if data.endswith("\\.\n"):
        data = data[:-3]
    if not data.strip("\r\n"):
        return pa.table({name: pa.array([], pa.string()) for name in names})
    places = [f"c{i}" for i in range(len(names))]
    same = style.quote == style.escape
    try:
        read = pyarrow.csv.read_csv(
            io.BytesIO(data.encode()),
            read_options=pyarrow.csv.ReadOptions(column_names=places, skip_rows=int(style.header)),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=style.delimiter,
                quote_char=style.quote,
                double_quote=same,
                escape_char=False if same else style.escape,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={place: pa.string() for place in places},
                null_values=[style.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise BadData("malformed CSV data", detail=str(error).splitlines()[0]) from None
    return read.rename_columns(list(names))
