import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.api.java.UDF4;

/**
 * SQL/JSON path expressions over jsonb, as PostgreSQL has them: lax and strict, accessors, filters, arithmetic, methods.
 *
 * <p>Not there: {@code .keyvalue()} and the methods of dates and times.  A path is read once and remembered.
 */
public final class JsonPath {
    private static final int MOST_PATHS = 1000;
    private static final int DIVISION_DIGITS = 20;
    private static final ConcurrentHashMap PATHS = new ConcurrentHashMap();
    private static final Object UNKNOWN = new Object(); // beside TRUE and FALSE, what a predicate may come to

    /** One part of a path: what it is, what stands below it, and a text or number that belongs to it. */
    private static final class Part {
        final String kind;
        final Part left;
        final Part right;
        final Object value;
        final boolean lenient; // behind .** a step passes over items that it does not fit, in strict mode too
        ArrayList ranges;

        Part(String kind, Part left, Part right, Object value) {
            this.lenient = left != null && (left.kind.equals("**") || left.lenient);
            this.kind = kind;
            this.left = left;
            this.right = right;
            this.value = value;
        }
    }

    private static final class Path {
        boolean lax = true;
        Part root;
    }

    static Path read(String text) {
        Path known = (Path) PATHS.get(text);
        if (known == null) {
            if (PATHS.size() >= MOST_PATHS) {
                PATHS.clear();
            }
            known = new Reader(text).path();
            PATHS.put(text, known);
        }
        return known;
    }

    // ── evaluation ──

    private static final class Run {
        final Path path;
        final Object document;
        final TreeMap variables;
        final ArrayList arrays = new ArrayList(); // that subscripts stand in, the innermost last: what `last` counts

        Run(Object json, Object path, Object variables) {
            this.path = read((String) path);
            this.document = JsonTree.parse(json);
            Object given = JsonTree.parse(variables);
            if (!(given instanceof TreeMap)) {
                throw Failure.of("22023", "\"vars\" argument is not an object");
            }
            this.variables = (TreeMap) given;
        }

        void all(ArrayList found) {
            items(path.root, document, found);
        }

        private void items(Part part, Object current, ArrayList found) {
            String kind = part.kind;
            if (kind.equals("$")) {
                found.add(document);
            } else if (kind.equals("@")) {
                found.add(current);
            } else if (kind.equals("value")) {
                found.add(part.value);
            } else if (kind.equals("variable")) {
                if (!variables.containsKey(part.value)) {
                    RuntimeException error = Failure.of("42704", "could not find jsonpath variable \"" + part.value + "\"");
                    throw new IllegalStateException(error.getMessage()); // which neither a filter nor silent passes over
                }
                found.add(variables.get(part.value));
            } else if (kind.equals("last")) {
                if (arrays.isEmpty()) {
                    throw Failure.of("42601", "LAST is allowed only in array subscripts");
                }
                found.add(BigDecimal.valueOf(((ArrayList) arrays.get(arrays.size() - 1)).size() - 1L));
            } else if (isPredicate(part)) {
                Object truth = truth(part, current);
                found.add(truth == UNKNOWN ? JsonTree.parse("null") : truth);
            } else if (kind.equals("arithmetic")) {
                found.add(arithmetic(part, current));
            } else if (kind.equals("sign")) {
                signed(part, current, found);
            } else {
                ArrayList below = new ArrayList();
                items(part.left, current, below);
                for (Iterator each = below.iterator(); each.hasNext(); ) {
                    step(part, each.next(), current, path.lax, found);
                }
            }
        }

        /** One accessor, filter or method applied to one item; `unwrap`: to the members of an array. */
        private void step(Part part, Object item, Object current, boolean unwrap, ArrayList found) {
            String kind = part.kind;
            if (kind.equals("[*]")) {
                if (item instanceof ArrayList) {
                    found.addAll((ArrayList) item);
                } else if (path.lax) {
                    found.add(item);
                } else if (!part.lenient) {
                    throw Failure.of("22039", "jsonpath wildcard array accessor can only be applied to an array");
                }
            } else if (kind.equals("[]")) {
                subscripts(part, item, current, found);
            } else if (kind.equals("**")) {
                long[] levels = (long[]) part.value;
                descend(item, 0, levels[0], levels[1], found);
            } else if (kind.equals("method") && (part.value.equals("type") || part.value.equals("size"))) {
                found.add(measured(part, item));
            } else if (unwrap && item instanceof ArrayList) {
                for (Iterator each = ((ArrayList) item).iterator(); each.hasNext(); ) {
                    step(part, each.next(), current, false, found);
                }
            } else if (kind.equals("key")) {
                member(part, item, found);
            } else if (kind.equals("*")) {
                if (item instanceof TreeMap) {
                    found.addAll(((TreeMap) item).values());
                } else if (!path.lax && !part.lenient) {
                    throw Failure.of("2203C", "jsonpath wildcard member accessor can only be applied to an object");
                }
            } else if (kind.equals("filter")) {
                if (truth(part.right, item) == Boolean.TRUE) {
                    found.add(item);
                }
            } else {
                found.add(method(part, item));
            }
        }

        private void member(Part part, Object item, ArrayList found) {
            if (item instanceof TreeMap) {
                Object value = ((TreeMap) item).get(part.value);
                if (value != null) {
                    found.add(value);
                } else if (!path.lax && !part.lenient) {
                    throw Failure.of("2203A", "JSON object does not contain key \"" + part.value + "\"");
                }
            } else if (!path.lax && !part.lenient) {
                throw Failure.of("2203A", "jsonpath member accessor can only be applied to an object");
            }
        }

        private void subscripts(Part part, Object item, Object current, ArrayList found) {
            ArrayList array;
            if (item instanceof ArrayList) {
                array = (ArrayList) item;
            } else if (path.lax) {
                array = new ArrayList();
                array.add(item);
            } else if (part.lenient) {
                return;
            } else {
                throw Failure.of("22039", "jsonpath array accessor can only be applied to an array");
            }
            arrays.add(array);
            for (Iterator each = part.ranges.iterator(); each.hasNext(); ) {
                Part range = (Part) each.next();
                int from = place(range.left, current);
                int to = range.right == null ? from : place(range.right, current);
                if (!path.lax && !part.lenient && (from < 0 || from > to || to >= array.size())) {
                    throw Failure.of("22033", "jsonpath array subscript is out of bounds");
                }
                for (int i = Math.max(from, 0); i <= to && i < array.size(); i++) {
                    found.add(array.get(i));
                }
            }
            arrays.remove(arrays.size() - 1);
        }

        private int place(Part part, Object current) {
            ArrayList found = new ArrayList();
            items(part, current, found);
            if (found.size() != 1 || !(found.get(0) instanceof BigDecimal)) {
                throw Failure.of("22033", "jsonpath array subscript is not a single numeric value");
            }
            BigDecimal whole = ((BigDecimal) found.get(0)).setScale(0, RoundingMode.DOWN);
            if (whole.abs().compareTo(BigDecimal.valueOf(Integer.MAX_VALUE)) > 0) {
                throw Failure.of("22033", "jsonpath array subscript is out of integer range");
            }
            return whole.intValue();
        }

        private static void descend(Object item, long level, long first, long last, ArrayList found) {
            boolean isLeaf = !(item instanceof ArrayList) && !(item instanceof TreeMap);
            if (level >= first || (first == Long.MAX_VALUE && isLeaf)) {
                found.add(item);
            }
            if (level >= last) {
                return;
            }
            Iterator each = item instanceof ArrayList ? ((ArrayList) item).iterator()
                    : item instanceof TreeMap ? ((TreeMap) item).values().iterator() : new ArrayList().iterator();
            while (each.hasNext()) {
                descend(each.next(), level + 1, first, last, found);
            }
        }

        private Object measured(Part part, Object item) {
            if (part.value.equals("type")) {
                return item instanceof TreeMap ? "object" : item instanceof ArrayList ? "array"
                        : item instanceof String ? "string" : item instanceof BigDecimal ? "number"
                        : item instanceof Boolean ? "boolean" : "null";
            }
            if (!(item instanceof ArrayList) && !path.lax) {
                throw Failure.of("22039", "jsonpath item method .size() can only be applied to an array");
            }
            return BigDecimal.valueOf(item instanceof ArrayList ? ((ArrayList) item).size() : 1L);
        }

        private static Object method(Part part, Object item) {
            String name = (String) part.value;
            String shown = "jsonpath item method ." + name + "()";
            boolean isNumber = item instanceof BigDecimal;
            if (name.equals("abs") || name.equals("floor") || name.equals("ceiling")) {
                if (!isNumber) {
                    throw Failure.of("22036", shown + " can only be applied to a numeric value");
                }
                BigDecimal number = (BigDecimal) item;
                return name.equals("abs") ? number.abs()
                        : number.setScale(0, name.equals("floor") ? RoundingMode.FLOOR : RoundingMode.CEILING);
            }
            if (name.equals("string")) {
                if (item instanceof TreeMap || item instanceof ArrayList || JsonTree.textOf(item) == null) {
                    throw Failure.of("22036", shown + " can only be applied to a boolean, string, numeric, or datetime value");
                }
                return JsonTree.textOf(item);
            }
            if (name.equals("boolean")) {
                return truthOf(item, shown);
            }
            if (!isNumber && !(item instanceof String)) {
                throw Failure.of("22036", shown + " can only be applied to a string or numeric value");
            }
            return number(name, item, shown);
        }

        private static Object truthOf(Object item, String shown) {
            if (item instanceof Boolean) {
                return item;
            }
            if (item instanceof BigDecimal && ((BigDecimal) item).stripTrailingZeros().scale() <= 0) {
                return Boolean.valueOf(((BigDecimal) item).signum() != 0);
            }
            String text = item instanceof String ? ((String) item).trim().toLowerCase() : "";
            if (!text.isEmpty() && ("true".startsWith(text) || "yes".startsWith(text) || text.equals("on") || text.equals("1"))) {
                return Boolean.TRUE;
            }
            if (!text.isEmpty() && ("false".startsWith(text) || "no".startsWith(text) || text.equals("off") || text.equals("of")
                    || text.equals("0"))) {
                return Boolean.FALSE;
            }
            String message = item instanceof String || item instanceof BigDecimal
                    ? "argument \"" + JsonTree.textOf(item) + "\" of " + shown + " is invalid for type boolean"
                    : shown + " can only be applied to a boolean, string, or numeric value";
            throw Failure.of("22036", message);
        }

        private static Object number(String name, Object item, String shown) {
            BigDecimal number;
            try {
                number = item instanceof BigDecimal ? (BigDecimal) item : new BigDecimal(((String) item).trim());
            } catch (NumberFormatException no) {
                String type = name.equals("double") ? "double precision" : name.equals("number") ? "numeric" : name;
                throw Failure.of("22036", "argument \"" + item + "\" of " + shown + " is invalid for type " + type);
            }
            if (name.equals("double")) {
                double value = number.doubleValue();
                if (Double.isInfinite(value)) {
                    throw Failure.of("22036", "argument \"" + JsonTree.textOf(item) + "\" of " + shown
                            + " is invalid for type double precision");
                }
                return new BigDecimal(Double.toString(value));
            }
            if (name.equals("number")) {
                return number;
            }
            BigDecimal whole = number.setScale(0, RoundingMode.HALF_UP);
            boolean isText = item instanceof String && number.scale() > 0;
            int bits = name.equals("bigint") ? 63 : 31;
            if (isText || whole.toBigInteger().bitLength() > bits) {
                throw Failure.of("22036", "argument \"" + JsonTree.textOf(item) + "\" of " + shown + " is invalid for type " + name);
            }
            return whole;
        }

        private void signed(Part part, Object current, ArrayList found) {
            ArrayList below = unwrapped(part.left, current);
            for (Iterator each = below.iterator(); each.hasNext(); ) {
                Object item = each.next();
                if (!(item instanceof BigDecimal)) {
                    throw Failure.of("2203B", "operand of unary jsonpath operator " + part.value + " is not a numeric value");
                }
                found.add(part.value.equals("-") ? ((BigDecimal) item).negate() : item);
            }
        }

        private Object arithmetic(Part part, Object current) {
            BigDecimal one = single(part, part.left, "left", current);
            BigDecimal other = single(part, part.right, "right", current);
            char operator = ((String) part.value).charAt(0);
            if ((operator == '/' || operator == '%') && other.signum() == 0) {
                throw Failure.of("22012", "division by zero");
            }
            if (operator == '/') {
                return one.divide(other, DIVISION_DIGITS, RoundingMode.HALF_UP);
            }
            return operator == '+' ? one.add(other) : operator == '-' ? one.subtract(other)
                    : operator == '*' ? one.multiply(other) : one.remainder(other);
        }

        private BigDecimal single(Part part, Part side, String name, Object current) {
            ArrayList found = unwrapped(side, current);
            if (found.size() != 1 || !(found.get(0) instanceof BigDecimal)) {
                throw Failure.of("22038",
                        name + " operand of jsonpath operator " + part.value + " is not a single numeric value");
            }
            return (BigDecimal) found.get(0);
        }

        /** The items of an operand; in lax mode an array counts as its members. */
        private ArrayList unwrapped(Part part, Object current) {
            ArrayList found = new ArrayList();
            items(part, current, found);
            if (!path.lax) {
                return found;
            }
            ArrayList members = new ArrayList();
            for (Iterator each = found.iterator(); each.hasNext(); ) {
                Object item = each.next();
                if (item instanceof ArrayList) {
                    members.addAll((ArrayList) item);
                } else {
                    members.add(item);
                }
            }
            return members;
        }

        private Object truth(Part part, Object current) {
            String kind = part.kind;
            if (kind.equals("&&") || kind.equals("||")) {
                Object one = truth(part.left, current);
                Object deciding = kind.equals("||") ? Boolean.TRUE : Boolean.FALSE;
                if (one == deciding) {
                    return deciding;
                }
                Object other = truth(part.right, current);
                return other == deciding ? deciding : one == UNKNOWN || other == UNKNOWN ? UNKNOWN : other;
            }
            if (kind.equals("!")) {
                Object one = truth(part.left, current);
                return one == UNKNOWN ? UNKNOWN : one == Boolean.TRUE ? Boolean.FALSE : Boolean.TRUE;
            }
            if (kind.equals("is unknown")) {
                return truth(part.left, current) == UNKNOWN ? Boolean.TRUE : Boolean.FALSE;
            }
            try {
                if (kind.equals("exists")) {
                    ArrayList found = new ArrayList();
                    items(part.left, current, found);
                    return found.isEmpty() ? Boolean.FALSE : Boolean.TRUE;
                }
                ArrayList lefts = unwrapped(part.left, current);
                ArrayList rights = new ArrayList();
                if (part.right == null) {
                    rights.add(part.value);
                } else {
                    rights = unwrapped(part.right, current);
                }
                return any(part, lefts, rights);
            } catch (IllegalArgumentException error) {
                return UNKNOWN;
            }
        }

        private Object any(Part part, ArrayList lefts, ArrayList rights) {
            boolean found = false;
            boolean unknown = false;
            for (Iterator left = lefts.iterator(); left.hasNext(); ) {
                Object one = left.next();
                for (Iterator right = rights.iterator(); right.hasNext(); ) {
                    Object result = compared(part, one, right.next());
                    if (result == UNKNOWN) {
                        if (!path.lax) {
                            return UNKNOWN;
                        }
                        unknown = true;
                    } else if (result == Boolean.TRUE) {
                        if (path.lax) {
                            return Boolean.TRUE;
                        }
                        found = true;
                    }
                }
            }
            return found ? Boolean.TRUE : unknown ? UNKNOWN : Boolean.FALSE;
        }

        private static Object compared(Part part, Object one, Object other) {
            String kind = part.kind;
            if (kind.equals("like_regex")) {
                String[] pattern = (String[]) other;
                if (!(one instanceof String)) {
                    return UNKNOWN;
                }
                boolean matches = Regex.compiled(pattern[0], pattern[1]).matcher((String) one).find();
                return matches ? Boolean.TRUE : Boolean.FALSE;
            }
            if (kind.equals("starts with")) {
                return one instanceof String && other instanceof String
                        ? (((String) one).startsWith((String) other) ? Boolean.TRUE : Boolean.FALSE) : UNKNOWN;
            }
            boolean nested = one instanceof ArrayList || one instanceof TreeMap || other instanceof ArrayList
                    || other instanceof TreeMap;
            String operator = (String) part.value;
            if (one.getClass() != other.getClass()) {
                boolean isNull = JsonTree.textOf(one) == null || JsonTree.textOf(other) == null;
                return isNull ? (operator.equals("!=") ? Boolean.TRUE : Boolean.FALSE) : UNKNOWN;
            }
            if (nested) {
                return UNKNOWN;
            }
            int order = JsonTree.compare(one, other);
            boolean result = operator.equals("==") ? order == 0 : operator.equals("!=") ? order != 0
                    : operator.equals("<") ? order < 0 : operator.equals("<=") ? order <= 0
                    : operator.equals(">") ? order > 0 : order >= 0;
            return result ? Boolean.TRUE : Boolean.FALSE;
        }
    }

    private static boolean isPredicate(Part part) {
        String kind = part.kind;
        return kind.equals("comparison") || kind.equals("&&") || kind.equals("||") || kind.equals("!")
                || kind.equals("exists") || kind.equals("is unknown") || kind.equals("like_regex")
                || kind.equals("starts with");
    }

    // ── functions ──

    /** (json, path, variables, silent): the items, as texts.  With silent, those before an error. */
    public static final class Query implements UDF4 {
        @Override
        public Object call(Object json, Object path, Object variables, Object silent) {
            if (json == null || path == null || variables == null || silent == null) {
                return null;
            }
            Run run = new Run(json, path, variables);
            ArrayList found = new ArrayList();
            try {
                run.all(found);
            } catch (IllegalArgumentException error) {
                if (!((Boolean) silent).booleanValue()) {
                    throw error;
                }
            }
            String[] texts = new String[found.size()];
            for (int i = 0; i < texts.length; i++) {
                texts[i] = JsonTree.print(found.get(i));
            }
            return texts;
        }
    }

    /** (json, path, variables, silent): whether there is an item; NULL if an error was passed over. */
    public static final class Exists implements UDF4 {
        @Override
        public Object call(Object json, Object path, Object variables, Object silent) {
            if (json == null || path == null || variables == null || silent == null) {
                return null;
            }
            Run run = new Run(json, path, variables);
            ArrayList found = new ArrayList();
            try {
                run.all(found);
            } catch (IllegalArgumentException error) {
                if (run.path.lax && !found.isEmpty()) {
                    return Boolean.TRUE; // it would not have been looked for any further
                }
                if (!((Boolean) silent).booleanValue()) {
                    throw error;
                }
                return null;
            }
            return Boolean.valueOf(!found.isEmpty());
        }
    }

    /** (json, path, variables, silent): what a predicate comes to. */
    public static final class Match implements UDF4 {
        @Override
        public Object call(Object json, Object path, Object variables, Object silent) {
            if (json == null || path == null || variables == null || silent == null) {
                return null;
            }
            boolean quiet = ((Boolean) silent).booleanValue();
            Run run = new Run(json, path, variables);
            ArrayList found = new ArrayList();
            try {
                run.all(found);
            } catch (IllegalArgumentException error) {
                if (!quiet) {
                    throw error;
                }
                return null;
            }
            Object only = found.size() == 1 ? found.get(0) : "";
            if (only instanceof Boolean) {
                return only;
            }
            if (!quiet && JsonTree.textOf(only) != null) {
                throw Failure.of("22038", "single boolean result is expected");
            }
            return null;
        }
    }

    // ── reading ──

    private static final class Reader {
        private final String t;
        private int i = 0;

        Reader(String t) {
            this.t = t;
        }

        Path path() {
            Path path = new Path();
            space();
            if (i == t.length()) {
                throw Failure.of("22P02", "invalid input syntax for type jsonpath: \"" + t + "\"");
            }
            try {
                if (word("strict")) {
                    path.lax = false;
                } else {
                    word("lax");
                }
                path.root = or();
                space();
                if (i < t.length()) {
                    throw bad();
                }
                return path;
            } catch (StringIndexOutOfBoundsException end) {
                throw bad();
            } catch (StackOverflowError deep) {
                throw Failure.of("54001", "stack depth limit exceeded");
            }
        }

        private RuntimeException bad() {
            String rest = i < t.length() ? "at or near \"" + t.charAt(i) + "\"" : "at end";
            return Failure.of("42601", "syntax error " + rest + " of jsonpath input");
        }

        private void space() {
            while (i < t.length() && (Character.isWhitespace(t.charAt(i)) || t.startsWith("/*", i))) {
                int end = t.startsWith("/*", i) ? t.indexOf("*/", i + 2) : i - 1;
                if (t.startsWith("/*", i) && end < 0) {
                    throw bad();
                }
                i = end + 2;
            }
        }

        private boolean at(String symbol) {
            space();
            return t.startsWith(symbol, i);
        }

        private boolean take(String symbol) {
            if (!at(symbol)) {
                return false;
            }
            i += symbol.length();
            return true;
        }

        private void expect(String symbol) {
            if (!take(symbol)) {
                throw bad();
            }
        }

        private boolean word(String word) {
            space();
            int end = i + word.length();
            if (!t.startsWith(word, i) || (end < t.length() && isName(t.charAt(end)))) {
                return false;
            }
            i = end;
            return true;
        }

        private static boolean isName(char c) {
            return Character.isLetterOrDigit(c) || c == '_' || c == '$' || c > 127;
        }

        private Part or() {
            Part left = and();
            while (take("||")) {
                left = new Part("||", predicate(left), predicate(and()), null);
            }
            return left;
        }

        private Part and() {
            Part left = compared();
            while (take("&&")) {
                left = new Part("&&", predicate(left), predicate(compared()), null);
            }
            return left;
        }

        private Part predicate(Part part) {
            if (!isPredicate(part)) {
                throw bad();
            }
            return part;
        }

        private Part compared() {
            if (at("!") && !at("!=")) {
                take("!");
                space();
                if (!at("(") && !at("exists")) {
                    throw bad();
                }
                return new Part("!", predicate(primary()), null, null);
            }
            Part left = sum();
            String[] operators = {"==", "!=", "<>", "<=", ">=", "<", ">", "="};
            for (int k = 0; k < operators.length; k++) {
                if (take(operators[k])) {
                    String name = operators[k].equals("<>") ? "!=" : operators[k].equals("=") ? "==" : operators[k];
                    return new Part("comparison", left, sum(), name);
                }
            }
            if (word("starts")) {
                if (!word("with")) {
                    throw bad();
                }
                return new Part("starts with", left, primary(), null);
            }
            if (word("like_regex")) {
                return new Part("like_regex", left, null, pattern());
            }
            return left;
        }

        private String[] pattern() {
            space();
            String pattern = string();
            String given = "";
            if (word("flag")) {
                space();
                given = string();
            }
            String flags = given.indexOf('i') >= 0 ? "i" : "";
            boolean dots = given.indexOf('s') >= 0;
            boolean lines = given.indexOf('m') >= 0;
            flags += given.indexOf('q') >= 0 ? "q" : lines ? (dots ? "w" : "n") : dots ? "" : "p";
            for (int k = 0; k < given.length(); k++) {
                if ("ismq".indexOf(given.charAt(k)) < 0) {
                    throw Failure.of("42601", "invalid input syntax for type jsonpath");
                }
            }
            return new String[] {pattern, flags};
        }

        private Part sum() {
            Part left = product();
            while (at("+") || at("-")) {
                String operator = t.substring(i, ++i);
                left = new Part("arithmetic", left, product(), operator);
            }
            return left;
        }

        private Part product() {
            Part left = signed();
            while (at("*") || at("/") || at("%")) {
                String operator = t.substring(i, ++i);
                left = new Part("arithmetic", left, signed(), operator);
            }
            return left;
        }

        private Part signed() {
            if (at("+") || at("-")) {
                String sign = t.substring(i, ++i);
                return new Part("sign", signed(), null, sign);
            }
            return primary();
        }

        private Part primary() {
            space();
            char c = t.charAt(i);
            Part part;
            if (c == '(') {
                i++;
                part = or();
                expect(")");
                if (isPredicate(part) && word("is")) {
                    if (!word("unknown")) {
                        throw bad();
                    }
                    return new Part("is unknown", part, null, null);
                }
            } else if (word("exists")) {
                expect("(");
                part = new Part("exists", or(), null, null);
                expect(")");
                return part;
            } else {
                part = start(c);
            }
            return accessors(part);
        }

        private Part start(char c) {
            if (c == '$') {
                i++;
                if (i < t.length() && t.charAt(i) == '"') {
                    return new Part("variable", null, null, string());
                }
                String name = name();
                return name.isEmpty() ? new Part("$", null, null, null) : new Part("variable", null, null, name);
            }
            if (c == '@') {
                i++;
                return new Part("@", null, null, null);
            }
            if (c == '"') {
                return new Part("value", null, null, string());
            }
            if (Character.isDigit(c) || c == '.') {
                return new Part("value", null, null, number());
            }
            if (word("last")) {
                return new Part("last", null, null, null);
            }
            String[] words = {"true", "false", "null"};
            for (int k = 0; k < words.length; k++) {
                if (word(words[k])) {
                    return new Part("value", null, null, JsonTree.parse(words[k]));
                }
            }
            throw bad();
        }

        private Part accessors(Part start) {
            Part part = start;
            while (true) {
                if (at("?")) {
                    i++;
                    expect("(");
                    part = new Part("filter", part, predicate(or()), null);
                    expect(")");
                } else if (at("[")) {
                    i++;
                    part = subscripts(part);
                } else if (at(".") && !isPredicate(part)) {
                    i++;
                    part = named(part);
                } else {
                    return part;
                }
            }
        }

        private Part subscripts(Part below) {
            if (take("*")) {
                expect("]");
                return new Part("[*]", below, null, null);
            }
            Part part = new Part("[]", below, null, null);
            part.ranges = new ArrayList();
            do {
                Part from = sum();
                part.ranges.add(new Part("range", from, word("to") ? sum() : null, null));
            } while (take(","));
            expect("]");
            return part;
        }

        private Part named(Part below) {
            if (take("**")) {
                long[] levels = {0L, Long.MAX_VALUE};
                if (take("{")) {
                    levels[0] = level();
                    levels[1] = word("to") ? level() : levels[0];
                    expect("}");
                }
                return new Part("**", below, null, levels);
            }
            if (take("*")) {
                return new Part("*", below, null, null);
            }
            space();
            if (t.charAt(i) == '"') {
                return new Part("key", below, null, string());
            }
            String name = name();
            if (name.isEmpty()) {
                throw bad();
            }
            if (!at("(")) {
                return new Part("key", below, null, name);
            }
            if (" type size abs floor ceiling double number integer bigint boolean string ".indexOf(" " + name + " ") < 0) {
                throw Failure.of("0A000", "jsonpath item method ." + name + "() not yet supported");
            }
            expect("(");
            expect(")");
            return new Part("method", below, null, name);
        }

        private long level() {
            space();
            if (word("last")) {
                return Long.MAX_VALUE;
            }
            return number().longValue();
        }

        private String name() {
            int from = i;
            while (i < t.length() && isName(t.charAt(i))) {
                i++;
            }
            return t.substring(from, i);
        }

        private BigDecimal number() {
            int from = i;
            while (i < t.length() && (Character.isDigit(t.charAt(i)) || t.charAt(i) == '.'
                    || ((t.charAt(i) == 'e' || t.charAt(i) == 'E') && i > from)
                    || ((t.charAt(i) == '+' || t.charAt(i) == '-') && "eE".indexOf(t.charAt(i - 1)) >= 0))) {
                i++;
            }
            try {
                return new BigDecimal(t.substring(from, i));
            } catch (NumberFormatException no) {
                throw bad();
            }
        }

        private String string() {
            if (t.charAt(i) != '"') {
                throw bad();
            }
            StringBuilder text = new StringBuilder();
            i++;
            while (t.charAt(i) != '"') {
                char c = t.charAt(i++);
                text.append(c == '\\' ? escaped() : c);
            }
            i++;
            return text.toString();
        }

        private char escaped() {
            char c = t.charAt(i++);
            int plain = "bfnrtv".indexOf(c);
            if (plain >= 0) {
                return "\b\f\n\r\t\013".charAt(plain);
            }
            if (c == 'u') {
                i += 4;
                return (char) Integer.parseInt(t.substring(i - 4, i), 16);
            }
            if (c == 'x') {
                i += 2;
                return (char) Integer.parseInt(t.substring(i - 2, i), 16);
            }
            return c;
        }
    }
}
