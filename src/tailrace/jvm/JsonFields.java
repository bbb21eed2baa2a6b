import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The texts of some top-level fields of a JSON document, all in one pass: what {@code ->>} gives for each.
 *
 * <p>A string without its quotes and escapes, a number exactly and without trailing zeros, an object or array as it is
 * written but for spaces.  NULL for JSON null and for what is missing; of equal names the last counts.  All is NULL for
 * what is no object.  Values of type jsonb are checked where they come in: what is no JSON is not noticed here, and gives
 * NULL, or the fields before the error.  Names come as the bytes of one text, separated by NUL, which no name of ours can
 * contain; bytes and not a text, because Spark would make a new text of it for every row.
 */
public final class JsonFields implements UDF2 {
    private static final int LARGEST_EXPONENT = 1000; // beyond it, writing all digits would be a way to fill memory

    private transient byte[][] asked; // what was asked for last: the joined names, then each; never half of it

    @Override
    public Object call(Object data, Object joinedNames) {
        if (data == null || joinedNames == null) {
            return null;
        }
        try {
            return fields((byte[]) data, split((byte[]) joinedNames));
        } catch (ArrayIndexOutOfBoundsException noJson) {
            return null;
        }
    }

    private byte[][] split(byte[] joined) {
        byte[][] known = asked;
        if (known != null && (known[0] == joined || Arrays.equals(known[0], joined))) {
            return known;
        }
        String[] parts = new String(joined, StandardCharsets.UTF_8).split("\0", -1);
        byte[][] found = new byte[parts.length + 1][];
        found[0] = joined;
        for (int k = 0; k < parts.length; k++) {
            found[k + 1] = parts[k].getBytes(StandardCharsets.UTF_8);
        }
        asked = found;
        return found;
    }

    /** The document is known to be right, so that nothing but its end needs to be checked on the way. */
    private static UTF8String[] fields(byte[] b, byte[][] names) {
        int i = JsonGrammar.space(b, 0);
        if (b[i] != '{') {
            return null;
        }
        UTF8String[] found = new UTF8String[names.length - 1];
        int next = 0; // fields mostly come in the order in which they are asked for
        i = JsonGrammar.space(b, i + 1);
        while (b[i] == '"') {
            int end = JsonGrammar.string(b, i + 1);
            int place = place(b, i + 1, end - 1, names, next);
            i = JsonGrammar.space(b, JsonGrammar.space(b, end) + 1); // after the colon
            int after = end(b, i);
            if (place >= 0) {
                found[place] = text(b, i, after);
                next = place + 1;
            }
            i = JsonGrammar.space(b, after);
            i = b[i] == ',' ? JsonGrammar.space(b, i + 1) : i;
        }
        return found;
    }

    private static int place(byte[] b, int from, int to, byte[][] names, int first) {
        byte[] name = b;
        for (int i = from; i < to; i++) {
            if (b[i] == '\\') {
                name = unescaped(b, from, to).getBytes();
                from = 0;
                to = name.length;
                break;
            }
        }
        int count = names.length - 1;
        for (int k = 0; k < count; k++) {
            int place = first + k < count ? first + k : first + k - count;
            byte[] wanted = names[place + 1];
            if (to - from == wanted.length && Arrays.equals(name, from, to, wanted, 0, wanted.length)) {
                return place;
            }
        }
        return -1;
    }

    /** The place after the value that begins at i. */
    private static int end(byte[] b, int i) {
        if (b[i] != '{' && b[i] != '[') {
            return JsonGrammar.scalar(b, i);
        }
        int depth = 0;
        while (true) {
            byte c = b[i++];
            if (c == '"') {
                i = JsonGrammar.string(b, i);
            } else if (c == '{' || c == '[') {
                depth++;
            } else if ((c == '}' || c == ']') && --depth == 0) {
                return i;
            }
        }
    }

    private static UTF8String text(byte[] b, int from, int to) {
        switch (b[from]) {
            case 'n':
                return null;
            case '"':
                return unescaped(b, from + 1, to - 1);
            case '{':
            case '[':
                return compact(b, from, to);
            case 't':
            case 'f':
                return UTF8String.fromBytes(b, from, to - from);
            default:
                return number(b, from, to);
        }
    }

    public static UTF8String number(byte[] b, int from, int to) {
        for (int i = from; i < to; i++) {
            if (b[i] == '.' || b[i] == 'e' || b[i] == 'E') {
                return UTF8String.fromString(plain(new String(b, from, to - from, StandardCharsets.ISO_8859_1)));
            }
        }
        boolean minusZero = to - from == 2 && b[from] == '-' && b[from + 1] == '0';
        return minusZero ? UTF8String.fromString("0") : UTF8String.fromBytes(b, from, to - from);
    }

    private static String plain(String written) {
        BigDecimal number = new BigDecimal(written);
        if (number.signum() == 0) {
            return "0";
        }
        number = number.stripTrailingZeros();
        return Math.abs(number.scale()) > LARGEST_EXPONENT ? number.toString() : number.toPlainString();
    }

    private static UTF8String compact(byte[] b, int from, int to) {
        byte[] kept = new byte[to - from];
        int n = 0;
        for (int i = from; i < to; ) {
            byte c = b[i];
            int next = c == '"' ? JsonGrammar.string(b, i + 1) : i + 1;
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
                System.arraycopy(b, i, kept, n, next - i);
                n += next - i;
            }
            i = next;
        }
        return UTF8String.fromBytes(kept, 0, n);
    }

    public static UTF8String unescaped(byte[] b, int from, int to) {
        int i = from;
        while (i < to && b[i] != '\\') {
            i++;
        }
        if (i == to) {
            return UTF8String.fromBytes(b, from, to - from);
        }
        StringBuilder text = new StringBuilder(new String(b, from, i - from, StandardCharsets.UTF_8));
        while (i < to) { // at a backslash
            char c = (char) b[i + 1];
            i += 2;
            if (c == 'u') {
                text.append((char) Integer.parseInt(new String(b, i, 4, StandardCharsets.ISO_8859_1), 16));
                i += 4;
            } else {
                int known = "bfnrt".indexOf(c);
                text.append(known < 0 ? c : "\b\f\n\r\t".charAt(known));
            }
            int run = i;
            while (i < to && b[i] != '\\') {
                i++;
            }
            text.append(new String(b, run, i - run, StandardCharsets.UTF_8));
        }
        return UTF8String.fromString(text.toString());
    }
}
