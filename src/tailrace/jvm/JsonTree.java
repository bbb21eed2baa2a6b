import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.api.java.UDF4;
import scala.collection.Seq;

/**
 * jsonb as a tree, for the operators that look at it as a whole or change it.  Every result is canonical text: compact,
 * names in the order of their characters, the last of equal names, numbers exact and without zeros at the end.
 */
public final class JsonTree {
    private static final Object NULL = new Object();

    /** By their UTF-8 bytes, as value_json.py sorts them: not by char, where surrogates come too early. */
    private static final class ByCodePoint implements Comparator {
        @Override
        public int compare(Object a, Object b) {
            String one = (String) a;
            String other = (String) b;
            int most = Math.min(one.length(), other.length());
            for (int i = 0; i < most; i++) {
                char c = one.charAt(i);
                char d = other.charAt(i);
                if (c != d) {
                    boolean surrogates = Character.isSurrogate(c) != Character.isSurrogate(d);
                    return surrogates ? (Character.isSurrogate(c) ? 1 : -1) : c - d;
                }
            }
            return one.length() - other.length();
        }
    }

    private static final Comparator NAMES = new ByCodePoint();

    public static Object parse(Object text) {
        return new Parser((String) text).document();
    }

    public static String print(Object value) {
        StringBuilder text = new StringBuilder();
        print(value, text, -1);
        return text.toString();
    }

    private static void print(Object value, StringBuilder text, int indent) {
        if (value == NULL) {
            text.append("null");
        } else if (value instanceof String) {
            text.append(quoted((String) value));
        } else if (value instanceof BigDecimal) {
            text.append(number((BigDecimal) value));
        } else if (value instanceof Boolean) {
            text.append(value);
        } else if (value instanceof ArrayList) {
            ArrayList members = (ArrayList) value;
            text.append('[');
            for (int i = 0; i < members.size(); i++) {
                separate(text, i, indent);
                print(members.get(i), text, indent < 0 ? indent : indent + 1);
            }
            close(text, indent).append(']');
        } else {
            int i = 0;
            text.append('{');
            for (Iterator each = ((TreeMap) value).entrySet().iterator(); each.hasNext(); i++) {
                Map.Entry member = (Map.Entry) each.next();
                separate(text, i, indent);
                text.append(quoted((String) member.getKey())).append(indent < 0 ? ":" : ": ");
                print(member.getValue(), text, indent < 0 ? indent : indent + 1);
            }
            close(text, indent).append('}');
        }
    }

    private static void separate(StringBuilder text, int i, int indent) {
        text.append(i > 0 ? "," : "");
        if (indent >= 0) {
            text.append('\n').append("    ".repeat(indent + 1));
        }
    }

    private static StringBuilder close(StringBuilder text, int indent) {
        return indent < 0 ? text : text.append('\n').append("    ".repeat(indent));
    }

    private static String quoted(String text) {
        return JsonString.quoted(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String number(BigDecimal value) {
        return value.signum() == 0 ? "0" : value.stripTrailingZeros().toPlainString();
    }

    public static String textOf(Object value) {
        return value == NULL ? null : value instanceof String ? (String) value : print(value);
    }

    /** What lies under one key or place; null: nothing. */
    static Object member(Object value, String key) {
        if (value instanceof TreeMap) {
            return ((TreeMap) value).get(key);
        }
        if (value instanceof ArrayList && key.matches("-?\\d{1,9}")) {
            return element(value, Integer.parseInt(key));
        }
        return null;
    }

    static Object element(Object value, int place) {
        if (!(value instanceof ArrayList) && !(value instanceof TreeMap)) {
            return place == 0 || place == -1 ? value : null; // a scalar is an array of itself here
        }
        if (value instanceof TreeMap) {
            return null;
        }
        ArrayList members = (ArrayList) value;
        int i = place < 0 ? members.size() + place : place;
        return i >= 0 && i < members.size() ? members.get(i) : null;
    }

    static boolean contains(Object whole, Object part) {
        if (whole instanceof TreeMap && part instanceof TreeMap) {
            for (Iterator each = ((TreeMap) part).entrySet().iterator(); each.hasNext(); ) {
                Map.Entry member = (Map.Entry) each.next();
                Object found = ((TreeMap) whole).get(member.getKey());
                if (found == null || !contains(found, member.getValue())) {
                    return false;
                }
            }
            return true;
        }
        if (whole instanceof ArrayList && part instanceof ArrayList) {
            for (Iterator each = ((ArrayList) part).iterator(); each.hasNext(); ) {
                if (!among((ArrayList) whole, each.next())) {
                    return false;
                }
            }
            return true;
        }
        return compare(whole, part) == 0;
    }

    private static boolean among(ArrayList whole, Object part) {
        for (Iterator each = whole.iterator(); each.hasNext(); ) {
            Object member = each.next();
            boolean nested = part instanceof ArrayList || part instanceof TreeMap;
            if (nested ? member.getClass() == part.getClass() && contains(member, part) : compare(member, part) == 0) {
                return true;
            }
        }
        return false;
    }

    /** PostgreSQL's order: null, texts, numbers, booleans, arrays, objects; shorter ones first. */
    public static int compare(Object a, Object b) {
        if (rank(a) != rank(b)) {
            return rank(a) - rank(b);
        }
        if (a instanceof String) {
            return NAMES.compare(a, b);
        }
        if (a instanceof BigDecimal || a instanceof Boolean) {
            return ((Comparable) a).compareTo(b);
        }
        if (a instanceof ArrayList) {
            ArrayList left = (ArrayList) a;
            ArrayList right = (ArrayList) b;
            int order = left.size() - right.size();
            for (int i = 0; order == 0 && i < left.size(); i++) {
                order = compare(left.get(i), right.get(i));
            }
            return order;
        }
        if (a instanceof TreeMap) {
            int order = ((TreeMap) a).size() - ((TreeMap) b).size();
            Iterator left = ((TreeMap) a).entrySet().iterator();
            Iterator right = ((TreeMap) b).entrySet().iterator();
            while (order == 0 && left.hasNext()) {
                Map.Entry one = (Map.Entry) left.next();
                Map.Entry other = (Map.Entry) right.next();
                order = NAMES.compare(one.getKey(), other.getKey());
                order = order != 0 ? order : compare(one.getValue(), other.getValue());
            }
            return order;
        }
        return 0;
    }

    private static int rank(Object value) {
        if (value instanceof ArrayList && ((ArrayList) value).isEmpty()) {
            return -1; // as PostgreSQL has it
        }
        return value == NULL ? 0 : value instanceof String ? 1 : value instanceof BigDecimal ? 2
                : value instanceof Boolean ? 3 : value instanceof ArrayList ? 4 : 5;
    }

    private static RuntimeException wrong(String message) {
        return Failure.of("22023", message);
    }

    /** (text): the canonical text, or an error. */
    public static final class Canonical implements UDF1 {
        @Override
        public Object call(Object text) {
            return text == null ? null : print(parse(text));
        }
    }

    public static final class Pretty implements UDF1 {
        @Override
        public Object call(Object text) {
            if (text == null) {
                return null;
            }
            StringBuilder result = new StringBuilder();
            print(parse(text), result, 0);
            return result.toString();
        }
    }

    public static final class Length implements UDF1 {
        @Override
        public Object call(Object text) {
            if (text == null) {
                return null;
            }
            Object value = parse(text);
            if (!(value instanceof ArrayList)) {
                throw wrong(value instanceof TreeMap ? "cannot get array length of a non-array" : "cannot get array length of a scalar");
            }
            return Integer.valueOf(((ArrayList) value).size());
        }
    }

    public static final class WithoutNulls implements UDF1 {
        @Override
        public Object call(Object text) {
            return text == null ? null : print(stripped(parse(text)));
        }

        private static Object stripped(Object value) {
            if (value instanceof TreeMap) {
                for (Iterator each = ((TreeMap) value).entrySet().iterator(); each.hasNext(); ) {
                    Map.Entry member = (Map.Entry) each.next();
                    if (member.getValue() == NULL) {
                        each.remove();
                    } else {
                        stripped(member.getValue());
                    }
                }
            } else if (value instanceof ArrayList) {
                for (Iterator each = ((ArrayList) value).iterator(); each.hasNext(); ) {
                    stripped(each.next());
                }
            }
            return value;
        }
    }

    public static final class Contains implements UDF2 {
        @Override
        public Object call(Object a, Object b) {
            if (a == null || b == null) {
                return null;
            }
            Object whole = parse(a);
            Object part = parse(b);
            boolean scalar = !(part instanceof ArrayList) && !(part instanceof TreeMap);
            boolean found = whole instanceof ArrayList && scalar ? among((ArrayList) whole, part)
                    : whole.getClass() == part.getClass() && contains(whole, part);
            return Boolean.valueOf(found);
        }
    }

    public static final class Compare implements UDF2 {
        @Override
        public Object call(Object a, Object b) {
            return a == null || b == null ? null : Integer.valueOf(compare(parse(a), parse(b)));
        }
    }

    /** (json, keys, all): is one of the keys, or are all, names of the object, texts of the array, or the text itself? */
    public static final class HasKeys implements UDF3 {
        @Override
        public Object call(Object a, Object keys, Object all) {
            if (a == null || keys == null) {
                return null;
            }
            Object value = parse(a);
            Seq wanted = (Seq) keys;
            boolean every = ((Boolean) all).booleanValue();
            for (int i = 0; i < wanted.length(); i++) {
                Object key = wanted.apply(i);
                if (key != null && has(value, key) != every) {
                    return Boolean.valueOf(!every);
                }
            }
            return Boolean.valueOf(every);
        }

        private static boolean has(Object value, Object key) {
            return value instanceof TreeMap ? ((TreeMap) value).containsKey(key)
                    : value instanceof ArrayList ? ((ArrayList) value).contains(key) : key.equals(value);
        }
    }

    public static final class Concat implements UDF2 {
        @Override
        public Object call(Object a, Object b) {
            if (a == null || b == null) {
                return null;
            }
            Object left = parse(a);
            Object right = parse(b);
            if (left instanceof TreeMap && right instanceof TreeMap) {
                ((TreeMap) left).putAll((TreeMap) right);
                return print(left);
            }
            ArrayList both = new ArrayList();
            add(both, left);
            add(both, right);
            return print(both);
        }

        private static void add(ArrayList both, Object value) {
            if (value instanceof ArrayList) {
                both.addAll((ArrayList) value);
            } else {
                both.add(value);
            }
        }
    }

    /** (json, keys): without these names, or without these texts. */
    public static final class Without implements UDF2 {
        @Override
        public Object call(Object a, Object keys) {
            if (a == null || keys == null) {
                return null;
            }
            Object value = parse(a);
            Seq gone = (Seq) keys;
            if (!(value instanceof TreeMap) && !(value instanceof ArrayList)) {
                throw wrong("cannot delete from scalar");
            }
            for (int i = 0; i < gone.length(); i++) {
                Object key = gone.apply(i);
                if (key != null && value instanceof TreeMap) {
                    ((TreeMap) value).remove(key);
                }
                while (key != null && value instanceof ArrayList && ((ArrayList) value).remove(key)) {
                    continue;
                }
            }
            return print(value);
        }
    }

    public static final class WithoutPlace implements UDF2 {
        @Override
        public Object call(Object a, Object place) {
            if (a == null || place == null) {
                return null;
            }
            Object value = parse(a);
            if (!(value instanceof ArrayList)) {
                throw wrong(value instanceof TreeMap ? "cannot delete from object using integer index" : "cannot delete from scalar");
            }
            ArrayList members = (ArrayList) value;
            int i = ((Integer) place).intValue();
            i = i < 0 ? members.size() + i : i;
            if (i >= 0 && i < members.size()) {
                members.remove(i);
            }
            return print(value);
        }
    }

    /** (json, path, as text). */
    public static final class At implements UDF3 {
        @Override
        public Object call(Object a, Object path, Object asText) {
            if (a == null || path == null) {
                return null;
            }
            Object value = parse(a);
            Seq keys = (Seq) path;
            for (int i = 0; i < keys.length() && value != null; i++) {
                value = keys.apply(i) == null ? null : member(value, (String) keys.apply(i));
            }
            if (value == null) {
                return null;
            }
            return ((Boolean) asText).booleanValue() ? textOf(value) : print(value);
        }
    }

    /** (json, steps, as text): `->` several times.  A step is `.name` of an object or `[place` of an array. */
    public static final class Steps implements UDF3 {
        @Override
        public Object call(Object a, Object path, Object asText) {
            if (a == null) {
                return null;
            }
            Object value = parse(a);
            Seq steps = (Seq) path;
            for (int i = 0; i < steps.length() && value != null; i++) {
                String step = (String) steps.apply(i);
                if (step.startsWith("[")) {
                    value = element(value, Integer.parseInt(step.substring(1)));
                } else {
                    value = value instanceof TreeMap ? ((TreeMap) value).get(step.substring(1)) : null;
                }
            }
            if (value == null) {
                return null;
            }
            return ((Boolean) asText).booleanValue() ? textOf(value) : print(value);
        }
    }

    /** (json, place): an element, counted from 0, or from the end below it. */
    public static final class Element implements UDF2 {
        @Override
        public Object call(Object a, Object place) {
            if (a == null || place == null) {
                return null;
            }
            Object value = element(parse(a), ((Integer) place).intValue());
            return value == null ? null : print(value);
        }
    }

    /** (json, path, value, what): set, set or make, insert before, insert after; a null value deletes. */
    public static final class Change implements UDF4 {
        @Override
        public Object call(Object a, Object path, Object value, Object what) {
            if (a == null || path == null || what == null) {
                return null;
            }
            String how = (String) what;
            if (value == null && !how.equals("delete")) {
                return null;
            }
            Object tree = parse(a);
            Seq keys = (Seq) path;
            if (!(tree instanceof TreeMap) && !(tree instanceof ArrayList)) {
                throw wrong(how.equals("delete") ? "cannot delete path in scalar" : "cannot set path in scalar");
            }
            if (keys.length() > 0) {
                change(tree, keys, 0, value == null ? null : parse(value), how);
            }
            return print(tree);
        }

        private static void change(Object tree, Seq keys, int level, Object value, String how) {
            String key = (String) keys.apply(level);
            boolean last = level == keys.length() - 1;
            if (key == null) {
                throw Failure.of("22004", "path element at position " + (level + 1) + " is null");
            }
            if (!last) {
                Object inner = tree instanceof TreeMap || tree instanceof ArrayList ? member(tree, key) : null;
                if (inner instanceof TreeMap || inner instanceof ArrayList) {
                    change(inner, keys, level + 1, value, how);
                }
            } else if (tree instanceof TreeMap) {
                boolean there = ((TreeMap) tree).containsKey(key);
                if (how.equals("delete")) {
                    ((TreeMap) tree).remove(key);
                } else if (there && how.startsWith("insert")) {
                    throw wrong("cannot replace existing key");
                } else if (there || !how.equals("set")) {
                    ((TreeMap) tree).put(key, value);
                }
            } else {
                change((ArrayList) tree, key, level, value, how);
            }
        }

        private static void change(ArrayList members, String key, int level, Object value, String how) {
            if (!key.trim().matches("[+-]?\\d{1,9}")) {
                throw Failure.of("22P02", "path element at position " + (level + 1) + " is not an integer: \"" + key + "\"");
            }
            int place = Integer.parseInt(key.trim());
            int i = place < 0 ? members.size() + place : place;
            boolean there = i >= 0 && i < members.size();
            if (how.equals("delete")) {
                if (there) {
                    members.remove(i);
                }
            } else if (how.startsWith("insert")) {
                int at = there ? i + (how.equals("insert after") ? 1 : 0) : i < 0 ? 0 : members.size();
                members.add(at, value);
            } else if (there) {
                members.set(i, value);
            } else if (how.equals("make")) {
                members.add(i < 0 ? 0 : members.size(), value);
            }
        }
    }

    /** Strict JSON, as RFC 8259 has it. */
    private static final class Parser {
        private final String t;
        private int i = 0;

        Parser(String t) {
            this.t = t;
        }

        Object document() {
            try {
                Object value = value();
                space();
                if (i < t.length()) {
                    throw bad();
                }
                return value;
            } catch (StringIndexOutOfBoundsException end) {
                throw bad();
            } catch (NumberFormatException number) {
                throw bad();
            } catch (StackOverflowError deep) {
                throw Failure.of("54001", "stack depth limit exceeded");
            }
        }

        private RuntimeException bad() {
            return Failure.of("22P02", "invalid input syntax for type json");
        }

        private void space() {
            while (i < t.length() && " \t\n\r".indexOf(t.charAt(i)) >= 0) {
                i++;
            }
        }

        private void expect(char c) {
            space();
            if (t.charAt(i++) != c) {
                throw bad();
            }
        }

        private Object value() {
            space();
            char c = t.charAt(i);
            if (c == '{') {
                return object();
            }
            if (c == '[') {
                return array();
            }
            if (c == '"') {
                i++;
                return string();
            }
            if (c == '-' || (c >= '0' && c <= '9')) {
                return number();
            }
            return c == 't' ? word("true", Boolean.TRUE) : c == 'f' ? word("false", Boolean.FALSE) : word("null", NULL);
        }

        private Object word(String word, Object value) {
            if (!t.startsWith(word, i)) {
                throw bad();
            }
            i += word.length();
            return value;
        }

        private Object object() {
            TreeMap members = new TreeMap(NAMES);
            i++;
            space();
            if (t.charAt(i) == '}') {
                i++;
                return members;
            }
            while (true) {
                expect('"');
                String name = string();
                expect(':');
                members.put(name, value());
                space();
                char c = t.charAt(i++);
                if (c == '}') {
                    return members;
                }
                if (c != ',') {
                    throw bad();
                }
            }
        }

        private Object array() {
            ArrayList members = new ArrayList();
            i++;
            space();
            if (t.charAt(i) == ']') {
                i++;
                return members;
            }
            while (true) {
                members.add(value());
                space();
                char c = t.charAt(i++);
                if (c == ']') {
                    return members;
                }
                if (c != ',') {
                    throw bad();
                }
            }
        }

        private Object number() {
            int from = i;
            i += t.charAt(i) == '-' ? 1 : 0;
            int first = i;
            digits();
            if (t.charAt(first) == '0' && i > first + 1) {
                throw bad();
            }
            if (i < t.length() && t.charAt(i) == '.') {
                i++;
                digits();
            }
            if (i < t.length() && (t.charAt(i) == 'e' || t.charAt(i) == 'E')) {
                i++;
                i += t.charAt(i) == '+' || t.charAt(i) == '-' ? 1 : 0;
                digits();
            }
            BigDecimal value = new BigDecimal(t.substring(from, i));
            if (Math.abs((long) value.precision() - value.scale()) > 140000L || value.scale() > 20000) {
                throw Failure.of("22003", "value overflows numeric format");
            }
            return value;
        }

        private void digits() {
            int from = i;
            while (i < t.length() && t.charAt(i) >= '0' && t.charAt(i) <= '9') {
                i++;
            }
            if (i == from) {
                throw bad();
            }
        }

        private String string() {
            StringBuilder text = new StringBuilder();
            while (true) {
                char c = t.charAt(i++);
                if (c == '"') {
                    return text.toString();
                }
                if (c < ' ') {
                    throw bad();
                }
                text.append(c == '\\' ? escaped() : c);
            }
        }

        private char escaped() {
            char c = t.charAt(i++);
            int plain = "\"\\/bfnrt".indexOf(c);
            if (plain >= 0) {
                return "\"\\/\b\f\n\r\t".charAt(plain);
            }
            if (c != 'u') {
                throw bad();
            }
            i += 4;
            char found = (char) Integer.parseInt(t.substring(i - 4, i), 16);
            if (found == '\0') {
                throw Failure.of("22P05", "unsupported Unicode escape sequence");
            }
            return found;
        }
    }
}
