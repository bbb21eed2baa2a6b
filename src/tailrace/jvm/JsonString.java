import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A text as a JSON string: in quotes, with {@code "}, {@code \} and control characters escaped and nothing else, as
 * serde_json does it.  Takes the text's bytes, which Spark hands over as they are.
 */
public final class JsonString implements UDF1 {
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.ISO_8859_1);

    @Override
    public Object call(Object data) {
        if (data == null) {
            return null;
        }
        return UTF8String.fromBytes(inQuotes((byte[]) data));
    }

    /** The same as a Java string. */
    public static String quoted(byte[] b) {
        return new String(inQuotes(b), StandardCharsets.UTF_8);
    }

    private static byte[] inQuotes(byte[] b) {
        int longer = 2;
        for (int i = 0; i < b.length; i++) {
            longer += more(b[i]);
        }
        byte[] s = new byte[b.length + longer];
        s[0] = '"';
        s[s.length - 1] = '"';
        if (longer == 2) {
            System.arraycopy(b, 0, s, 1, b.length);
        } else {
            escape(b, s);
        }
        return s;
    }

    /** By how many bytes a byte becomes longer. */
    private static int more(byte c) {
        return c < 0 || c >= ' ' ? (c == '"' || c == '\\' ? 1 : 0) : letter(c) != 0 ? 1 : 5;
    }

    private static byte letter(byte c) {
        switch (c) {
            case '\n':
                return 'n';
            case '\r':
                return 'r';
            case '\t':
                return 't';
            case '\b':
                return 'b';
            case '\f':
                return 'f';
            default:
                return 0;
        }
    }

    private static void escape(byte[] b, byte[] s) {
        int n = 1;
        for (int i = 0; i < b.length; i++) {
            byte c = b[i];
            int more = more(c);
            if (more > 0) {
                s[n++] = '\\';
            }
            if (more < 5) {
                s[n++] = more == 1 && c >= 0 && c < ' ' ? letter(c) : c;
            } else {
                s[n++] = 'u';
                s[n++] = '0';
                s[n++] = '0';
                s[n++] = HEX[c >> 4];
                s[n++] = HEX[c & 15];
            }
        }
    }
}
