import java.util.ArrayList;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.api.java.UDF4;
import org.apache.spark.sql.api.java.UDF6;

/**
 * PostgreSQL's regular expressions by Java's: what is spelt otherwise is translated, and what means something else.
 *
 * <p>A dot matches a line's end, {@code $} only the text's; word borders are {@code \m \M \y \Y}; classes are written
 * {@code [[:alpha:]]}.  Of alternatives Java takes the first that matches, PostgreSQL the longest.
 */
public final class Regex {
    private static final int MOST_PATTERNS = 1000;
    private static final ConcurrentHashMap PATTERNS = new ConcurrentHashMap();

    public static Pattern compiled(String pattern, String flags) {
        String key = flags + "\0" + pattern;
        Pattern known = (Pattern) PATTERNS.get(key);
        if (known == null) {
            if (PATTERNS.size() >= MOST_PATTERNS) {
                PATTERNS.clear();
            }
            known = compile(pattern, flags);
            PATTERNS.put(key, known);
        }
        return known;
    }

    private static Pattern compile(String pattern, String flags) {
        int options = Pattern.DOTALL | Pattern.UNICODE_CHARACTER_CLASS;
        boolean lines = false;
        boolean literal = false;
        for (int i = 0; i < flags.length(); i++) {
            switch (flags.charAt(i)) {
                case 'g':
                    break;
                case 'i':
                    options |= Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE;
                    break;
                case 'c':
                    options &= ~Pattern.CASE_INSENSITIVE;
                    break;
                case 'n':
                case 'm':
                    options = (options & ~Pattern.DOTALL) | Pattern.MULTILINE;
                    lines = true;
                    break;
                case 'p':
                    options &= ~Pattern.DOTALL;
                    break;
                case 'w':
                    options |= Pattern.MULTILINE;
                    lines = true;
                    break;
                case 's':
                    break;
                case 'x':
                    options |= Pattern.COMMENTS;
                    break;
                case 'q':
                    literal = true;
                    break;
                default:
                    throw Failure.of("22023", "invalid regular expression option: \"" + flags.charAt(i) + "\"");
            }
        }
        try {
            return Pattern.compile(literal ? Pattern.quote(pattern) : translated(pattern, lines), options);
        } catch (PatternSyntaxException bad) {
            throw Failure.of("2201B", "invalid regular expression: " + bad.getDescription().toLowerCase());
        }
    }

    private static String translated(String p, boolean lines) {
        StringBuilder java = new StringBuilder();
        int i = 0;
        while (i < p.length()) {
            char c = p.charAt(i);
            if (c == '\\' && i + 1 < p.length()) {
                java.append(escape(p.charAt(i + 1)));
                i += 2;
            } else if (c == '[') {
                i = bracket(p, i, java);
            } else if (c == '$' && !lines) {
                java.append("\\z");
                i++;
            } else if (c == '{' && !(i + 1 < p.length() && Character.isDigit(p.charAt(i + 1)))) {
                java.append("\\{");
                i++;
            } else {
                java.append(c);
                i++;
            }
        }
        return java.toString();
    }

    private static String escape(char c) {
        switch (c) {
            case 'm':
                return "\\b(?=\\w)";
            case 'M':
                return "\\b(?<=\\w)";
            case 'y':
                return "\\b";
            case 'Y':
                return "\\B";
            case 'Z':
                return "\\z";
            default:
                boolean known = "AdDwWsSabBcefnrtuUvx0123456789".indexOf(c) >= 0 || !Character.isLetterOrDigit(c);
                if (!known) {
                    throw Failure.of("2201B", "invalid regular expression: invalid escape \\ sequence");
                }
                return c == 'a' ? "\\x07" : c == 'B' ? "\\\\" : "\\" + c;
        }
    }

    /** A bracket expression; returns the place behind it. */
    private static int bracket(String p, int from, StringBuilder java) {
        int i = from + 1;
        java.append('[');
        if (i < p.length() && p.charAt(i) == '^') {
            java.append('^');
            i++;
        }
        if (i < p.length() && p.charAt(i) == ']') {
            java.append("\\]");
            i++;
        }
        while (i < p.length() && p.charAt(i) != ']') {
            char c = p.charAt(i);
            if (p.startsWith("[:", i)) {
                int end = p.indexOf(":]", i);
                if (end < 0) {
                    throw Failure.of("2201B", "invalid regular expression: brackets [] not balanced");
                }
                java.append(posix(p.substring(i + 2, end)));
                i = end + 2;
            } else if (c == '\\' && i + 1 < p.length()) {
                java.append('\\').append(p.charAt(i + 1));
                i += 2;
            } else {
                java.append(c == '[' || c == '&' || c == '~' ? "\\" : "").append(c);
                i++;
            }
        }
        if (i >= p.length()) {
            throw Failure.of("2201B", "invalid regular expression: brackets [] not balanced");
        }
        java.append(']');
        return i + 1;
    }

    private static String posix(String name) {
        switch (name) {
            case "alpha":
                return "\\p{Alpha}";
            case "digit":
                return "\\p{Digit}";
            case "alnum":
                return "\\p{Alnum}";
            case "upper":
                return "\\p{Upper}";
            case "lower":
                return "\\p{Lower}";
            case "space":
                return "\\s";
            case "punct":
                return "\\p{Punct}";
            case "blank":
                return "\\p{Blank}";
            case "cntrl":
                return "\\p{Cntrl}";
            case "graph":
                return "\\p{Graph}";
            case "print":
                return "\\p{Print}";
            case "xdigit":
                return "\\p{XDigit}";
            case "word":
                return "\\w";
            default:
                throw Failure.of("2201B", "invalid regular expression: invalid character class");
        }
    }

    /** The groups of a match, or the whole of it if there are none. */
    static String[] groups(Matcher found) {
        if (found.groupCount() == 0) {
            return new String[] {found.group()};
        }
        String[] parts = new String[found.groupCount()];
        for (int k = 0; k < parts.length; k++) {
            parts[k] = found.group(k + 1);
        }
        return parts;
    }

    private static int start(Object place) {
        int from = ((Integer) place).intValue();
        if (from < 1) {
            throw Failure.of("22023", "invalid value for parameter \"start\": " + from);
        }
        return from - 1;
    }

    /** (text, pattern, flags): does it match anywhere? */
    public static final class Matches implements UDF3 {
        @Override
        public Object call(Object text, Object pattern, Object flags) {
            if (text == null || pattern == null || flags == null) {
                return null;
            }
            return Boolean.valueOf(compiled((String) pattern, (String) flags).matcher((String) text).find());
        }
    }

    /** (text, pattern, escape character or nothing): SIMILAR TO, which matches the whole text. */
    public static final class Similar implements UDF3 {
        @Override
        public Object call(Object text, Object pattern, Object escape) {
            if (text == null || pattern == null || escape == null) {
                return null;
            }
            String key = "similar " + escape + "\0" + pattern;
            Pattern known = (Pattern) PATTERNS.get(key);
            if (known == null) {
                if (PATTERNS.size() >= MOST_PATTERNS) {
                    PATTERNS.clear();
                }
                known = compiled(regular((String) pattern, (String) escape), "");
                PATTERNS.put(key, known);
            }
            return Boolean.valueOf(known.matcher((String) text).find());
        }

        private static String regular(String pattern, String escape) {
            StringBuilder regex = new StringBuilder("^(?:");
            boolean inside = false; // brackets
            for (int i = 0; i < pattern.length(); i++) {
                char c = pattern.charAt(i);
                if (!escape.isEmpty() && c == escape.charAt(0)) {
                    if (++i == pattern.length()) {
                        throw Failure.of("22025", "invalid escape string");
                    }
                    regex.append('\\').append(pattern.charAt(i));
                } else if (inside) {
                    inside = c != ']';
                    regex.append(c == '\\' ? "\\\\" : String.valueOf(c));
                } else if (c == '%' || c == '_') {
                    regex.append(c == '%' ? ".*" : ".");
                } else {
                    inside = c == '[';
                    regex.append(c == '(' ? "(?:" : ".^$\\".indexOf(c) >= 0 ? "\\" + c : String.valueOf(c));
                }
            }
            return regex.append(")$").toString();
        }
    }

    /** (text, pattern, replacement, start, which or 0 for all, flags); -1: the first, or all with the flag g. */
    public static final class Replace implements UDF6 {
        @Override
        public Object call(Object text, Object pattern, Object by, Object from, Object which, Object flags) {
            if (text == null || pattern == null || by == null || from == null || which == null || flags == null) {
                return null;
            }
            String whole = (String) text;
            Matcher found = compiled((String) pattern, (String) flags).matcher(whole);
            int wanted = ((Integer) which).intValue();
            wanted = wanted >= 0 ? wanted : ((String) flags).indexOf('g') >= 0 ? 0 : 1;
            StringBuilder result = new StringBuilder();
            int copied = 0;
            int place = Math.min(start(from), whole.length());
            for (int n = 1; place <= whole.length() && found.find(place); n++) {
                if (wanted == 0 || wanted == n) {
                    result.append(whole, copied, found.start());
                    put(result, (String) by, found);
                    copied = found.end();
                    if (wanted == n) {
                        break;
                    }
                }
                place = found.end() > found.start() ? found.end() : found.end() + 1;
            }
            return result.append(whole, copied, whole.length()).toString();
        }

        private static void put(StringBuilder result, String by, Matcher found) {
            for (int i = 0; i < by.length(); i++) {
                char c = by.charAt(i);
                char next = i + 1 < by.length() ? by.charAt(i + 1) : '\0';
                if (c == '\\' && next == '&') {
                    result.append(found.group());
                    i++;
                } else if (c == '\\' && next >= '1' && next <= '9') {
                    int group = next - '0';
                    String part = group <= found.groupCount() ? found.group(group) : null;
                    result.append(part == null ? "" : part);
                    i++;
                } else if (c == '\\' && next == '\\') {
                    result.append(c);
                    i++;
                } else {
                    result.append(c);
                }
            }
        }
    }

    /** (text, pattern, flags): the groups of each match; of the first alone without the flag g. */
    public static final class All implements UDF3 {
        @Override
        public Object call(Object text, Object pattern, Object flags) {
            if (text == null || pattern == null || flags == null) {
                return null;
            }
            Matcher found = compiled((String) pattern, (String) flags).matcher((String) text);
            ArrayList rows = new ArrayList();
            while (found.find()) {
                rows.add(groups(found));
                if (((String) flags).indexOf('g') < 0) {
                    break;
                }
            }
            return rows.toArray();
        }
    }

    /** (text, pattern, flags): what lies between the matches; an empty match at an end or beside another is none. */
    public static final class Split implements UDF3 {
        @Override
        public Object call(Object text, Object pattern, Object flags) {
            if (text == null || pattern == null || flags == null) {
                return null;
            }
            String whole = (String) text;
            Matcher found = compiled((String) pattern, (String) flags).matcher(whole);
            ArrayList parts = new ArrayList();
            int from = 0;
            while (found.find()) {
                boolean empty = found.end() == found.start();
                if (empty && (found.start() == from || found.start() == whole.length())) {
                    continue;
                }
                parts.add(whole.substring(from, found.start()));
                from = found.end();
            }
            parts.add(whole.substring(from));
            return parts.toArray();
        }
    }

    /** (text, pattern, start, flags): how many matches. */
    public static final class Count implements UDF4 {
        @Override
        public Object call(Object text, Object pattern, Object from, Object flags) {
            if (text == null || pattern == null || from == null || flags == null) {
                return null;
            }
            String whole = (String) text;
            Matcher found = compiled((String) pattern, (String) flags).matcher(whole);
            int place = start(from);
            int count = 0;
            while (place <= whole.length() && found.find(place)) {
                count++;
                place = found.end() > found.start() ? found.end() : found.end() + 1;
            }
            return Integer.valueOf(count);
        }
    }

    /** (text, pattern, start, which, group, flags): a match or one of its groups; NULL if there is none. */
    public static final class Part implements UDF6 {
        @Override
        public Object call(Object text, Object pattern, Object from, Object which, Object group, Object flags) {
            Matcher found = Place.found(text, pattern, from, which, flags);
            int part = group == null ? 0 : ((Integer) group).intValue();
            part = part < 0 ? (found != null && found.groupCount() > 0 ? 1 : 0) : part;
            return found == null || part > found.groupCount() ? null : found.group(part);
        }
    }

    /** (text, pattern, start, which, end: 1 for the place behind it, flags): where a match is, counted from 1; or 0. */
    public static final class Place implements UDF6 {
        @Override
        public Object call(Object text, Object pattern, Object from, Object which, Object end, Object flags) {
            if (text == null || pattern == null) {
                return null;
            }
            Matcher found = found(text, pattern, from, which, flags);
            int place = found == null ? 0 : (((Integer) end).intValue() == 1 ? found.end() : found.start()) + 1;
            return Integer.valueOf(place);
        }

        static Matcher found(Object text, Object pattern, Object from, Object which, Object flags) {
            if (text == null || pattern == null || from == null || which == null || flags == null) {
                return null;
            }
            String whole = (String) text;
            Matcher found = compiled((String) pattern, (String) flags).matcher(whole);
            int place = start(from);
            for (int n = 1; place <= whole.length() && found.find(place); n++) {
                if (n == ((Integer) which).intValue()) {
                    return found;
                }
                place = found.end() > found.start() ? found.end() : found.end() + 1;
            }
            return null;
        }
    }
}
