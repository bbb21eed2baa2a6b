"""FROM: relations, views in place, subqueries, joins and set-returning functions, as one node and its
fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tailrace.errors import AmbiguousColumn, DuplicateObject, NotSupported, SqlError, SyntaxFailure, UnknownColumn
from tailrace.plan.bind_body import renamed
from tailrace.plan.bind_calls import SetCall, known_name, no_function
from tailrace.plan.bind_expressions import ExpressionBinder
from tailrace.plan.bind_sessions import ROWS, in_sessions
from tailrace.plan.bind_window_tables import windowed
from tailrace.plan.build import TRUE, conjunction, equal
from tailrace.plan.coercion import common_type
from tailrace.plan.context import Context, Place, refs
from tailrace.plan.decorrelate import lateral_join
from tailrace.plan.expressions import Expression, JoinKind, Ref
from tailrace.plan.functions.aggregates import aggregate_candidates
from tailrace.plan.functions.catalog import RELATIONS
from tailrace.plan.functions.registry import candidates
from tailrace.plan.functions.tables import ORDINALITY, table_candidates
from tailrace.plan.names import Relation
from tailrace.plan.nodes import Filter, FlatMap, Join, Node, Project, Scan, Values
from tailrace.plan.scope import Field, Scope, fields_of, shifted
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.syntax.records import RECORDS, SETS, record_field
from tailrace.plan.syntax.windows import SESSION
from tailrace.types.core import BIGINT, BOOLEAN, Column

NOTHING = Values(rows=((),), schema=())
"""One row without columns."""


@dataclass(frozen=True, slots=True)
class Source:
    """A node and the names of its columns."""

    node: Node
    fields: list[Field]


class FromBinder:
    def __init__(self, context: Context, place: Place) -> None:
        self.context = context
        self.place = place

    def bind(self, clause: exp.From | None) -> Source:
        if clause is None:
            return Source(NOTHING, [])
        source: Source | None = None
        for item in clause.expressions:
            source = self._item(item, source, "inner", None)
        assert source is not None
        return source

    def _item(
        self, item: exp.Expr, left: Source | None, kind: JoinKind, condition: exp.Join | None
    ) -> Source:
        """One item of FROM, joined to what stands left of it."""
        if isinstance(item, exp.Table) and _is_function(item):
            if left is not None and kind == "left" and not _always(condition):
                return self._lateral(_as_subquery(item), left, kind, condition)
            return self._function(item, left, kind, condition)
        if item.args.get("lateral") and left is not None:
            return self._lateral(item, left, kind, condition)
        right = self._source(item)
        return right if left is None else self._joined(left, right, kind, condition)

    def _source(self, item: exp.Expr) -> Source:
        match item:
            case exp.Table(this=exp.Anonymous() as call) if call.args.get("window"):
                rows = self._source(call.args["window"]["data"])
                return self._aliased(self._windows(rows, call), item)
            case exp.Table():
                return self._relation(item)
            case exp.Subquery():
                return self._named(self._subquery(item, self.place), item, "subquery")
            case exp.Paren():
                return self._aliased(self._source(item.this), item)
            case exp.Join():
                kind = item.args["kind"]
                left = self._item(item.this, None, "inner", None)
                return self._item(item.expression, left, "inner" if kind == "cross" else kind, item)
            case _:
                raise NotSupported(
                    f"{type(item).__name__} in FROM not yet supported", position=position_of(item)
                )

    def _windows(self, rows: Source, call: exp.Anonymous) -> Source:
        from tailrace.plan.bind import bind_node

        if call.name != SESSION:
            return Source(*windowed(rows.node, rows.fields, call))

        def over(query: exp.Expr, node: Node) -> Node:
            return bind_node(query, self.context, Place({ROWS: node}, None))

        return Source(*in_sessions(rows.node, rows.fields, call, over))

    def _subquery(self, item: exp.Expr, place: Place) -> Node:
        from tailrace.plan.bind import bind_node

        return bind_node(item.this, self.context, place)

    def _named(self, node: Node, item: exp.Expr, name: str) -> Source:
        alias = item.args.get("alias")
        if alias is None:
            return Source(node, fields_of(node.schema, ()))
        node = renamed(node, [c.name for c in alias.args.get("columns") or ()], alias.this.name)
        return Source(node, fields_of(node.schema, (alias.this.name,)))

    def _aliased(self, source: Source, item: exp.Expr) -> Source:
        """A join in parentheses, possibly with a name of its own."""
        if item.args.get("alias") is None:
            return source
        visible = [f for f in source.fields if f.is_column]
        outputs = tuple(Ref(index=f.index, type=f.type, nullable=f.nullable) for f in visible)
        node = Project(input=source.node, expressions=outputs, names=tuple(f.name for f in visible))
        return self._named(node, item, "join")

    def _relation(self, table: exp.Table) -> Source:
        parts = tuple(part.name for part in table.parts)
        if isinstance(table.this, exp.Anonymous):
            parts = ("pg_catalog", table.this.name)
        alias = table.args.get("alias")
        if len(parts) == 1 and parts[0] in self.place.ctes:
            node = self.place.ctes[parts[0]]
            name: tuple[str, ...] = parts
        else:
            relation = self._named_relation(table, parts)
            node = plan_of(relation)
            name = tuple(relation.name.split("."))
        if alias is not None:
            return self._named(node, table, parts[-1])
        return Source(node, fields_of(node.schema, name))

    def _named_relation(self, table: exp.Table, parts: tuple[str, ...]) -> Relation:
        position, options = position_of(table), table.args.get("options")
        if not options:
            return self.context.names.relation(parts, position)
        hinted = getattr(self.context.names, "hinted", None)
        if hinted is None:
            raise NotSupported("OPTIONS hints not supported here", position=position)
        found: Relation = hinted(parts, options, position)
        return found

    def _joined(self, left: Source, right: Source, kind: JoinKind, join: exp.Join | None) -> Source:
        width = len(left.node.schema)
        _distinct_names(left.fields, right.fields, join)
        fields = [
            *shifted(left.fields, 0, nullable=kind in ("right", "full")),
            *shifted(right.fields, width, nullable=kind in ("left", "full")),
        ]
        if join is None or join.args["kind"] == "cross":
            return Source(Join(left=left.node, right=right.node, kind="inner", condition=TRUE), fields)
        if join.args.get("natural") or join.args.get("using"):
            return self._using(left, right, fields, kind, join)
        plain = [*left.fields, *shifted(right.fields, width)]
        condition = self._condition(plain, join)
        return Source(Join(left=left.node, right=right.node, kind=kind, condition=condition), fields)

    def _condition(self, fields: list[Field], join: exp.Join) -> Expression:
        scope = Scope(fields, parent=self.place.outer, similar=self.context.names.similar)
        binder = ExpressionBinder(self.context, scope, self.place, "JOIN conditions")
        return binder.bind_as(join.args["on"], BOOLEAN, "JOIN/ON")

    def _using(
        self, left: Source, right: Source, fields: list[Field], kind: JoinKind, join: exp.Join
    ) -> Source:
        """USING and NATURAL: columns of the same name are equal, and stand in the result once, in front."""
        names = [i.name for i in join.args.get("using") or ()] or _common_names(left.fields, right.fields)
        width = len(left.node.schema)
        pairs = [(_only(left.fields, name, join), _only(right.fields, name, join)) for name in names]
        conditions, merged = [], []
        for name, (a, b) in zip(names, pairs, strict=True):
            type = common_type((a.type, b.type))
            if type is None:
                raise NotSupported(f'JOIN/USING types {a.type} and {b.type} of "{name}" cannot be matched')
            one = self.context.coerce(_ref(a), type)
            other = self.context.coerce(_ref(replace(b, index=b.index + width)), type)
            conditions.append(equal(one, other))
            merged.append((name, one, other))
        node: Node = Join(left=left.node, right=right.node, kind=kind, condition=conjunction(conditions))
        return self._merged(node, fields, merged, kind)

    def _merged(
        self,
        node: Node,
        fields: list[Field],
        merged: list[tuple[str, Expression, Expression]],
        kind: JoinKind,
    ) -> Source:
        from tailrace.plan.build import call
        from tailrace.plan.functions.conditional import COALESCE

        names = {name for name, _, _ in merged}
        rest = [replace(f, qualified_only=True) if f.name in names else f for f in fields]
        outputs: list[Expression] = list(refs(node))
        first = []
        for name, one, other in merged:
            side: Expression = other if kind == "right" else one
            if kind == "full":
                nullable = [replace(s, nullable=True) if isinstance(s, Ref) else s for s in (one, other)]
                side = call(COALESCE, nullable, one.type)
            if not isinstance(side, Ref):
                outputs.append(side)
                side = Ref(index=len(outputs) - 1, type=side.type, nullable=side.nullable)
            first.append(
                Field(relation=(), name=name, index=side.index, type=side.type, nullable=side.nullable)
            )
        if len(outputs) > len(node.schema):
            names_ = tuple(c.name for c in node.schema) + tuple(m[0] for m in merged)
            node = Project(input=node, expressions=tuple(outputs), names=names_[: len(outputs)])
        return Source(node, [*first, *rest])

    def _lateral(self, item: exp.Expr, left: Source, kind: JoinKind, join: exp.Join | None) -> Source:
        if kind not in ("inner", "left"):
            raise NotSupported(f"{kind.upper()} JOIN LATERAL not yet supported", position=position_of(item))
        scope = Scope(left.fields, parent=self.place.outer, similar=self.context.names.similar)
        around = ExpressionBinder(self.context, scope, self.place, "FROM clause of their own query level")
        right = self._named(self._subquery(item, Place(self.place.ctes, around)), item, "subquery")
        if item.args.get("function"):
            right.fields.extend(_as_value(right.fields))
        width = len(left.node.schema)
        on = join is not None and join.args.get("on") is not None
        condition = self._condition([*left.fields, *shifted(right.fields, width)], join) if on else TRUE  # type: ignore[arg-type]
        node = lateral_join(left.node, right.node, kind, condition)
        return Source(node, [*left.fields, *shifted(right.fields, width, nullable=kind == "left")])

    def _function(
        self, table: exp.Table, left: Source | None, kind: JoinKind, join: exp.Join | None
    ) -> Source:
        """A set-returning function sees the columns left of it."""
        call = table.this
        base = left or Source(NOTHING, [])
        if table.args.get("records"):
            return self._records(table, base, kind, join)
        if call.name in RECORDS:
            raise SyntaxFailure(
                'a column definition list is required for functions returning "record"',
                hint=f"Say {call.name}(...) AS r(a int, b text).",
                position=position_of(table),
            )
        scope = Scope(base.fields, parent=self.place.outer, similar=self.context.names.similar)
        binder = ExpressionBinder(self.context, scope, self.place, "functions in FROM")
        beside = table.args.get("beside") or ()
        if not beside and not table_candidates(known_name(call.name)):
            return self._scalar_in_from(table, binder, base)
        item = SetCall.together([self._set(each, binder) for each in (call, *beside)])
        columns = [Column(name, type) for name, type in item.columns]
        function = item.function
        if table.args.get("ordinality"):
            function += ORDINALITY
            columns.append(Column("ordinality", BIGINT, False))
        alias = table.args.get("alias")
        names = [c.name for c in alias.args.get("columns") or ()] if alias is not None else []
        own_name = not beside and [name for name, _ in item.columns] == [known_name(call.name)]
        if alias is not None and not names and own_name:
            names = [alias.this.name]  # what has a name of its own, as `value`, keeps it
        columns = [replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(columns)]
        if kind in ("right", "full"):
            raise NotSupported(
                f"{kind.upper()} JOIN with a function not yet supported", position=position_of(table)
            )
        node: Node = FlatMap(
            input=base.node,
            function=function,
            arguments=item.arguments,
            columns=tuple(columns),
            outer=kind == "left",
        )
        relation = (alias.this.name if alias is not None else call.name,)
        own = fields_of(node.schema[len(base.node.schema) :], relation, len(base.node.schema))
        return self._filtered(Source(node, [*base.fields, *own, *_as_value(own)]), kind, join)

    def _set(self, call: exp.Anonymous, binder: ExpressionBinder) -> SetCall:
        """The rows of a function; an ordinary one has one."""
        try:
            if table_candidates(known_name(call.name)):
                return binder.set_call(known_name(call.name), [binder.bind(e) for e in call.expressions])
            value = binder.bind_typed(call)
            one = binder.set_call("unnest", [binder.function("array[]", [value])])
            return replace(one, columns=((call.name, value.type),))
        except SqlError as error:
            if error.position is None:
                error.position = position_of(call)
            raise

    def _records(self, table: exp.Table, base: Source, kind: JoinKind, join: exp.Join | None) -> Source:
        """A document, or each element of one, as a row of typed columns."""
        [document] = table.this.expressions
        row, source = document, base
        if table.this.name in SETS:
            names = [exp.Identifier(this=name, quoted=True) for name in ("?element", "value")]  # ? is in no other name
            elements = exp.Table(this=exp.Anonymous(this="jsonb_array_elements", expressions=[document]))
            elements.set("alias", exp.TableAlias(this=names[0], columns=[names[1]]))
            source = self._function(elements, base, kind, None)
            row = exp.Column(this=names[1].copy(), table=names[0].copy())
        scope = Scope(source.fields, parent=self.place.outer, similar=self.context.names.similar)
        binder = ExpressionBinder(self.context, scope, self.place, "functions in FROM")
        values = [binder.bind(record_field(row, *column)) for column in table.args["records"]]
        width = len(base.node.schema)
        node = Project(
            input=source.node,
            expressions=(*refs(source.node)[:width], *values),
            names=(*(c.name for c in base.node.schema), *(name for name, _ in table.args["records"])),
        )
        own = fields_of(node.schema[width:], (table.args["alias"].this.name,), width)
        return self._filtered(Source(node, [*base.fields, *own]), kind, join)

    def _filtered(self, source: Source, kind: JoinKind, join: exp.Join | None) -> Source:
        if join is None or _always(join):
            return source
        if kind != "inner":
            raise NotSupported(f"{kind.upper()} JOIN of a function not yet supported")
        condition = self._condition(source.fields, join)
        return Source(Filter(input=source.node, predicate=condition), source.fields)

    def _scalar_in_from(self, table: exp.Table, binder: ExpressionBinder, base: Source) -> Source:
        """`FROM f(x)` of an ordinary function: one row with its value."""
        name = table.this.name
        if not candidates(name) or aggregate_candidates(name):
            error = no_function(name, [binder.bind(argument) for argument in table.this.expressions])
            error.position = position_of(table)
            raise error
        value = self.context.settled(binder.bind(table.this))
        alias = table.args.get("alias")
        columns = [c.name for c in alias.args.get("columns") or ()] if alias is not None else []
        named = columns[0] if columns else alias.this.name if alias is not None else name
        outputs = (*refs(base.node), value)
        names = (*(c.name for c in base.node.schema), named)
        node = Project(input=base.node, expressions=outputs, names=names)
        relation = (alias.this.name if alias is not None else name,)
        return Source(node, [*base.fields, *fields_of(node.schema[-1:], relation, len(outputs) - 1)])


def plan_of(relation: Relation) -> Node:
    """A view's plan, or a scan."""
    if relation.plan is not None:
        if tuple(c.name for c in relation.plan.schema) == tuple(c.name for c in relation.schema):
            return relation.plan
        return renamed(relation.plan, [c.name for c in relation.schema], relation.name)
    return Scan(
        relation=relation.id,
        schema=relation.schema,
        keys=relation.keys,
        append_only=relation.append_only,
        watermark=relation.watermark,
    )


def _ref(field: Field) -> Ref:
    return Ref(index=field.index, type=field.type, nullable=field.nullable)


def _common_names(left: Sequence[Field], right: Sequence[Field]) -> list[str]:
    others = {f.name for f in right if f.is_column}
    return [f.name for f in left if f.is_column and f.name in others]


def _only(fields: Sequence[Field], name: str, join: exp.Join) -> Field:
    matches = [f for f in fields if f.name == name and f.is_column]
    if not matches:
        raise UnknownColumn(
            f'column "{name}" specified in USING clause does not exist', position=position_of(join)
        )
    if len(matches) > 1:
        raise AmbiguousColumn(
            f'common column name "{name}" appears more than once', position=position_of(join)
        )
    return matches[0]


def _distinct_names(left: Sequence[Field], right: Sequence[Field], join: exp.Join | None) -> None:
    """Two relations of one name cannot be told apart, unless by their schemas."""
    lefts, rights = ({f.relation for f in side if f.relation} for side in (left, right))
    both = [b for a in lefts for b in rights if a[-1] == b[-1] and (a == b or 1 in (len(a), len(b)))]
    if both:
        name = both[0][-1]
        position = position_of(join.expression) if join is not None else None
        raise DuplicateObject(
            f'table name "{name}" specified more than once', sqlstate="42712", position=position
        )


def _as_value(own: Sequence[Field]) -> list[Field]:
    """Of a function that gives single values, its name in FROM stands for the value too."""
    if len(own) != 1 or not own[0].relation:
        return []
    return [replace(own[0], relation=(), name=own[0].relation[-1], stands_for_row=True)]


def _always(join: exp.Join | None) -> bool:
    """There is no condition but ON true."""
    on = join.args.get("on") if join is not None else None
    return on is None or (isinstance(on, exp.Boolean) and bool(on.this))


def _as_subquery(function: exp.Table) -> exp.Subquery:
    """`f(x) AS a`  as  `LATERAL (SELECT * FROM f(x) AS a) AS a`."""
    alias = function.args.get("alias") or exp.TableAlias(this=exp.Identifier(this=function.this.name, quoted=True))
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(expressions=[function]))
    return exp.Subquery(this=rows, lateral=True, function=True, alias=exp.TableAlias(this=alias.this.copy()))


def _is_function(item: exp.Table) -> bool:
    """A call in the place of a relation, but for the calls that are relations themselves."""
    call = item.this
    return isinstance(call, exp.Anonymous) and call.name not in RELATIONS and not call.args.get("window")
