import org.apache.spark.sql.api.java.UDF1;

/**
 * Whether bytes are exactly one JSON document (RFC 8259), in one pass and without making anything of it.
 *
 * <p>Ten times cheaper than to set up Spark's parser for each message.  Bytes above 127 are allowed in strings only,
 * and must be UTF-8 (RFC 3629).  The limits are those of Spark's parser, which reads it later.
 * Compiled by functions.py with the compiler that Spark carries, which knows no generics.
 */
public final class JsonGrammar implements UDF1 {
    private static final int MOST_LEVELS = 999;
    private static final int LONGEST_NUMBER = 1000;
    private static final int LONGEST_NAME = 50000;

    @Override
    public Object call(Object data) {
        return data == null ? null : Boolean.valueOf(isDocument((byte[]) data));
    }

    static boolean isDocument(byte[] b) {
        boolean[] inObject = new boolean[16]; // one entry per open bracket
        int depth = 0;
        int i = space(b, 0);
        while (true) { // a value begins at i
            if (i >= b.length) {
                return false;
            }
            byte c = b[i];
            if (c == '{' || c == '[') {
                boolean object = c == '{';
                i = space(b, i + 1);
                if (i < b.length && b[i] == (object ? '}' : ']')) {
                    i++;
                } else {
                    if (depth == MOST_LEVELS) {
                        return false;
                    }
                    if (depth == inObject.length) {
                        inObject = java.util.Arrays.copyOf(inObject, depth * 2);
                    }
                    inObject[depth++] = object;
                    i = object ? name(b, i) : i;
                    if (i < 0) {
                        return false;
                    }
                    continue;
                }
            } else {
                i = scalar(b, i);
                if (i < 0) {
                    return false;
                }
            }
            while (true) { // a value has ended before i
                i = space(b, i);
                if (depth == 0) {
                    return i == b.length;
                }
                if (i >= b.length) {
                    return false;
                }
                boolean object = inObject[depth - 1];
                c = b[i++];
                if (c == ',') {
                    i = space(b, i);
                    i = object ? name(b, i) : i;
                    if (i < 0) {
                        return false;
                    }
                    break;
                }
                if (c != (object ? '}' : ']')) {
                    return false;
                }
                depth--;
            }
        }
    }

    // Each of these takes the place where something begins and gives the place after it, or -1.

    public static int space(byte[] b, int i) {
        while (i < b.length && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t')) {
            i++;
        }
        return i;
    }

    /** A name, its colon, and the space around. */
    private static int name(byte[] b, int i) {
        if (i >= b.length || b[i] != '"') {
            return -1;
        }
        int end = string(b, i + 1);
        if (end < 0 || end - i > LONGEST_NAME) {
            return -1;
        }
        i = space(b, end);
        return i < b.length && b[i] == ':' ? space(b, i + 1) : -1;
    }

    public static int scalar(byte[] b, int i) {
        switch (b[i]) {
            case '"':
                return string(b, i + 1);
            case 't':
                return word(b, i, "true");
            case 'f':
                return word(b, i, "false");
            case 'n':
                return word(b, i, "null");
            default:
                return number(b, i);
        }
    }

    private static int word(byte[] b, int i, String word) {
        if (i + word.length() > b.length) {
            return -1;
        }
        for (int k = 0; k < word.length(); k++) {
            if (b[i + k] != word.charAt(k)) {
                return -1;
            }
        }
        return i + word.length();
    }

    /** The rest of a string after its opening quote. */
    public static int string(byte[] b, int i) {
        while (i < b.length) {
            byte c = b[i++];
            if (c == '"') {
                return i;
            }
            if (c == '\\') {
                i = escape(b, i);
                if (i < 0) {
                    return -1;
                }
            } else if (c < 0) {
                i = character(b, i - 1);
                if (i < 0) {
                    return -1;
                }
            } else if (c < ' ') {
                return -1;
            }
        }
        return -1;
    }

    /** A character of two to four bytes: neither longer than it need be, nor half of a pair, nor beyond Unicode. */
    private static int character(byte[] b, int i) {
        int first = b[i] & 0xff;
        int more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 0;
        if (more == 0 || i + more >= b.length) {
            return -1;
        }
        int second = b[i + 1] & 0xff;
        int least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (second < least || second > most) {
            return -1;
        }
        for (int k = 2; k <= more; k++) {
            if ((b[i + k] & 0xc0) != 0x80) {
                return -1;
            }
        }
        return i + more + 1;
    }

    private static int escape(byte[] b, int i) {
        if (i >= b.length) {
            return -1;
        }
        byte c = b[i++];
        if (c != 'u') {
            return "\"\\/bfnrt".indexOf(c) >= 0 ? i : -1;
        }
        if (i + 4 > b.length) {
            return -1;
        }
        for (int end = i + 4; i < end; i++) {
            if (Character.digit((char) (b[i] & 0xff), 16) < 0) {
                return -1;
            }
        }
        return i;
    }

    private static int number(byte[] b, int start) {
        int i = b[start] == '-' ? start + 1 : start;
        if (i < b.length && b[i] == '0') {
            i++;
        } else {
            i = digits(b, i);
        }
        if (i >= 0 && i < b.length && b[i] == '.') {
            i = digits(b, i + 1);
        }
        if (i >= 0 && i < b.length && (b[i] == 'e' || b[i] == 'E')) {
            i++;
            i = digits(b, i < b.length && (b[i] == '+' || b[i] == '-') ? i + 1 : i);
        }
        return i - start > LONGEST_NUMBER ? -1 : i;
    }

    /** One digit or more. */
    private static int digits(byte[] b, int start) {
        int i = start;
        while (i < b.length && b[i] >= '0' && b[i] <= '9') {
            i++;
        }
        return i > start ? i : -1;
    }
}
