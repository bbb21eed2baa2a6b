import org.apache.spark.sql.api.java.UDF1;

/**
 * The text form of ranges: `[1,5)`, `(,"2024-07-03 18:43:05"]`, `empty`.
 *
 * Gives three texts, as plan/value_ranges.py reads them: the two brackets, or `empty`, then the bounds, NULL for none.
 */
public final class Ranges implements UDF1 {
    @Override
    public Object call(Object given) {
        if (given == null) {
            return null;
        }
        String text = (String) given;
        String body = text.trim();
        if (body.regionMatches(true, 0, "empty", 0, 5)) {
            if (body.length() > 5) {
                throw malformed(text);
            }
            return new Object[] {"empty", null, null};
        }
        if (!body.startsWith("[") && !body.startsWith("(")) {
            throw malformed(text);
        }
        int comma = end(body, 1, text);
        if (body.charAt(comma) != ',') {
            throw malformed(text);
        }
        int close = end(body, comma + 1, text);
        if (body.charAt(close) == ',' || close + 1 < body.length()) {
            throw malformed(text);
        }
        String brackets = body.substring(0, 1) + body.charAt(close);
        return new Object[] {brackets, bound(body, 1, comma), bound(body, comma + 1, close)};
    }

    /** Where the next comma or closing bracket outside quotes is. */
    private static int end(String body, int start, String text) {
        boolean inside = false;
        for (int i = start; i < body.length(); i++) {
            char c = body.charAt(i);
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                inside = !inside;
            } else if (!inside && (c == ',' || c == ')' || c == ']')) {
                return i;
            }
        }
        throw malformed(text);
    }

    private static String bound(String body, int start, int end) {
        if (start == end) {
            return null;
        }
        StringBuilder bound = new StringBuilder();
        boolean inside = false;
        for (int i = start; i < end; i++) {
            char c = body.charAt(i);
            if (c == '\\') {
                bound.append(body.charAt(++i));
            } else if (c != '"') {
                bound.append(c);
            } else if (inside && i + 1 < end && body.charAt(i + 1) == '"') {
                bound.append(body.charAt(++i));
            } else {
                inside = !inside;
            }
        }
        return bound.toString();
    }

    private static RuntimeException malformed(String text) {
        return Failure.of("22P02", "malformed range literal: \"" + text + "\"");
    }
}
