import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF2;
import scala.collection.Seq;

/** What PostgreSQL does with texts and bytes, and Spark's functions do otherwise or not at all. */
public final class Texts {
    // PostgreSQL's reserved words, and those that cannot be names of functions or types.
    private static final HashSet KEYWORDS = new HashSet(Arrays.asList(("all analyse analyze and any array as asc asymmetric"
            + " authorization between bigint binary bit boolean both case cast char character check coalesce collate"
            + " collation column concurrently constraint create cross current_catalog current_date current_role"
            + " current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do"
            + " else end except exists extract false fetch float for foreign freeze from full grant greatest group"
            + " grouping having ilike in initially inner inout int integer intersect interval into is isnull join"
            + " lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not"
            + " notnull null nullif numeric offset on only or order out outer overlaps overlay placing position"
            + " precision primary real references returning right row select session_user setof similar smallint some"
            + " substring symmetric table tablesample then time timestamp to trailing treat trim true union unique"
            + " user using values varchar variadic verbose when where window with").split(" ")));

    static String quoteIdentifier(String name) {
        boolean plain = name.length() > 0 && !KEYWORDS.contains(name);
        for (int i = 0; plain && i < name.length(); i++) {
            char c = name.charAt(i);
            plain = (c >= 'a' && c <= 'z') || c == '_' || (i > 0 && c >= '0' && c <= '9');
        }
        return plain ? name : "\"" + name.replace("\"", "\"\"") + "\"";
    }

    static String quoteLiteral(String text) {
        String doubled = "'" + text.replace("'", "''").replace("\\", "\\\\") + "'";
        return text.indexOf('\\') >= 0 ? "E" + doubled : doubled;
    }

    public static final class QuoteIdentifier implements UDF1 {
        @Override
        public Object call(Object text) {
            return text == null ? null : quoteIdentifier((String) text);
        }
    }

    public static final class QuoteLiteral implements UDF1 {
        @Override
        public Object call(Object text) {
            return text == null ? null : quoteLiteral((String) text);
        }
    }

    /** One letter for one: in Java ß has two capitals, and Σ at the end of a word a small letter of its own. */
    static String cased(String text, boolean upper) {
        StringBuilder result = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            result.appendCodePoint(upper ? Character.toUpperCase(c) : Character.toLowerCase(c));
            i += Character.charCount(c);
        }
        return result.toString();
    }

    public static final class Upper implements UDF1 {
        @Override
        public Object call(Object text) {
            return text == null ? null : cased((String) text, true);
        }
    }

    public static final class Lower implements UDF1 {
        @Override
        public Object call(Object text) {
            return text == null ? null : cased((String) text, false);
        }
    }

    /** The first letter after what is neither letter nor digit is a capital, others are small. */
    public static final class Capitals implements UDF1 {
        @Override
        public Object call(Object text) {
            if (text == null) {
                return null;
            }
            StringBuilder result = new StringBuilder();
            boolean inside = false;
            for (int i = 0; i < ((String) text).length(); ) {
                int c = ((String) text).codePointAt(i);
                result.appendCodePoint(inside ? Character.toLowerCase(c) : Character.toUpperCase(c));
                inside = Character.isLetterOrDigit(c);
                i += Character.charCount(c);
            }
            return result.toString();
        }
    }

    /** format(template, texts): %s, %I, %L, with a place ({@code %2$s}) and a width ({@code %-10s}, {@code %*s}). */
    public static final class Format implements UDF2 {
        @Override
        public Object call(Object template, Object values) {
            if (template == null) {
                return null;
            }
            String text = (String) template;
            Seq parts = (Seq) values;
            StringBuilder result = new StringBuilder();
            int next = 0;
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c != '%') {
                    result.append(c);
                    continue;
                }
                i++;
                if (i < text.length() && text.charAt(i) == '%') {
                    result.append('%');
                    continue;
                }
                int number = 0;
                int digits = i;
                while (digits < text.length() && Character.isDigit(text.charAt(digits))) {
                    number = number * 10 + text.charAt(digits++) - '0';
                }
                if (digits > i && digits < text.length() && text.charAt(digits) == '$') {
                    if (number == 0) {
                        throw Failure.of("22023", "format specifies argument 0, but arguments are numbered from 1");
                    }
                    next = number - 1;
                    i = digits + 1;
                }
                boolean left = false;
                while (i < text.length() && text.charAt(i) == '-') {
                    left = true;
                    i++;
                }
                int width = 0;
                if (i < text.length() && text.charAt(i) == '*') {
                    Object given = argument(parts, next++);
                    width = given == null ? 0 : Integer.parseInt((String) given);
                    left = left || width < 0;
                    width = Math.abs(width);
                    i++;
                }
                while (i < text.length() && Character.isDigit(text.charAt(i))) {
                    width = width * 10 + text.charAt(i++) - '0';
                }
                if (i >= text.length()) {
                    throw Failure.of("22023", "unterminated format() type specifier");
                }
                String value = converted(text.charAt(i), argument(parts, next++));
                for (int k = value.length(); !left && k < width; k++) {
                    result.append(' ');
                }
                result.append(value);
                for (int k = value.length(); left && k < width; k++) {
                    result.append(' ');
                }
            }
            return result.toString();
        }

        private static Object argument(Seq parts, int place) {
            if (place >= parts.length()) {
                throw Failure.of("22023", "too few arguments for format()");
            }
            return parts.apply(place);
        }

        private static String converted(char kind, Object value) {
            switch (kind) {
                case 's':
                    return value == null ? "" : (String) value;
                case 'I':
                    if (value == null) {
                        throw Failure.of("22004", "null values cannot be formatted as an SQL identifier");
                    }
                    return quoteIdentifier((String) value);
                case 'L':
                    return value == null ? "NULL" : quoteLiteral((String) value);
                default:
                    throw Failure.of("22023", "unrecognized format() type specifier \"" + kind + "\"");
            }
        }
    }

    /** The elements of an array's text form: {a,NULL,"x y"}. */
    public static final class Elements implements UDF1 {
        @Override
        public Object call(Object text) {
            if (text == null) {
                return null;
            }
            String t = ((String) text).trim();
            if (!t.startsWith("{") || !t.endsWith("}") || t.length() < 2) {
                throw bad((String) text);
            }
            ArrayList elements = new ArrayList();
            int i = 1;
            int end = t.length() - 1;
            if (t.substring(1, end).trim().isEmpty()) {
                return elements.toArray();
            }
            while (true) {
                while (i < end && Character.isWhitespace(t.charAt(i))) {
                    i++;
                }
                StringBuilder part = new StringBuilder();
                boolean quoted = i < end && t.charAt(i) == '"';
                int depth = 0;
                int kept = 0;
                for (i += quoted ? 1 : 0; i < end && (quoted ? t.charAt(i) != '"' : depth > 0 || t.charAt(i) != ','); i++) {
                    char c = t.charAt(i);
                    if (c == '\\' && i + 1 < end) {
                        part.append(depth > 0 ? "\\" : "").append(t.charAt(++i));
                        kept = part.length();
                    } else {
                        depth += quoted ? 0 : c == '{' ? 1 : c == '}' ? -1 : 0;
                        if (depth < 0 || (c == '"' && depth == 0)) {
                            throw bad((String) text);
                        }
                        part.append(c);
                        kept = Character.isWhitespace(c) && !quoted ? kept : part.length();
                    }
                }
                if (quoted) {
                    if (i >= end) {
                        throw bad((String) text);
                    }
                    i++;
                    while (i < end && Character.isWhitespace(t.charAt(i))) {
                        i++;
                    }
                    kept = part.length();
                }
                part.setLength(kept);
                String element = part.toString();
                if (!quoted && (element.isEmpty() || depth != 0)) {
                    throw bad((String) text);
                }
                elements.add(!quoted && element.equalsIgnoreCase("null") ? null : element);
                if (i >= end) {
                    return elements.toArray();
                }
                if (t.charAt(i) != ',') {
                    throw bad((String) text);
                }
                i++;
            }
        }

        private static RuntimeException bad(String text) {
            return Failure.of("22P02", "malformed array literal: \"" + text + "\"");
        }
    }

    /** (text, format): bytes of hex, base64, escape; and `bytea`, which is hex after \x and escape otherwise. */
    public static final class Decode implements UDF2 {
        @Override
        public Object call(Object text, Object format) {
            if (text == null || format == null) {
                return null;
            }
            String t = (String) text;
            String f = ((String) format).toLowerCase();
            if (f.equals("bytea")) {
                return t.startsWith("\\x") ? hex(t.substring(2)) : unescaped(t);
            }
            if (f.equals("hex")) {
                return hex(t);
            }
            if (f.equals("escape")) {
                return unescaped(t);
            }
            if (f.equals("base64")) {
                try {
                    return java.util.Base64.getDecoder().decode(t.replaceAll("\\s", ""));
                } catch (IllegalArgumentException bad) {
                    throw Failure.of("22023", "invalid base64 end sequence");
                }
            }
            throw Failure.of("22023", "unrecognized encoding: \"" + format + "\"");
        }

        private static byte[] hex(String digits) {
            StringBuilder kept = new StringBuilder();
            for (int i = 0; i < digits.length(); i++) {
                char c = digits.charAt(i);
                if (Character.isWhitespace(c)) {
                    continue;
                }
                if (Character.digit(c, 16) < 0) {
                    throw Failure.of("22023", "invalid hexadecimal digit: \"" + c + "\"");
                }
                kept.append(c);
            }
            if (kept.length() % 2 == 1) {
                throw Failure.of("22023", "invalid hexadecimal data: odd number of digits");
            }
            byte[] bytes = new byte[kept.length() / 2];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) (Character.digit(kept.charAt(2 * i), 16) * 16 + Character.digit(kept.charAt(2 * i + 1), 16));
            }
            return bytes;
        }

        private static byte[] unescaped(String text) {
            byte[] from = text.getBytes(StandardCharsets.UTF_8);
            byte[] to = new byte[from.length];
            int n = 0;
            for (int i = 0; i < from.length; i++) {
                if (from[i] != '\\') {
                    to[n++] = from[i];
                } else if (i + 1 < from.length && from[i + 1] == '\\') {
                    to[n++] = '\\';
                    i++;
                } else if (i + 3 < from.length && octal(from[i + 1], 3) && octal(from[i + 2], 7) && octal(from[i + 3], 7)) {
                    to[n++] = (byte) ((from[i + 1] - '0') * 64 + (from[i + 2] - '0') * 8 + from[i + 3] - '0');
                    i += 3;
                } else {
                    throw Failure.of("22P02", "invalid input syntax for type bytea");
                }
            }
            return Arrays.copyOf(to, n);
        }

        private static boolean octal(byte digit, int most) {
            return digit >= '0' && digit <= '0' + most;
        }
    }

    /** (bytes, format): hex, base64 in lines of 76, escape. */
    public static final class Encode implements UDF2 {
        @Override
        public Object call(Object bytes, Object format) {
            if (bytes == null || format == null) {
                return null;
            }
            byte[] b = (byte[]) bytes;
            String f = ((String) format).toLowerCase();
            StringBuilder text = new StringBuilder();
            if (f.equals("base64")) {
                byte[] newline = {'\n'};
                return java.util.Base64.getMimeEncoder(76, newline).encodeToString(b);
            }
            if (!f.equals("hex") && !f.equals("escape")) {
                throw Failure.of("22023", "unrecognized encoding: \"" + format + "\"");
            }
            for (int i = 0; i < b.length; i++) {
                int v = b[i] & 255;
                if (f.equals("hex")) {
                    text.append(Character.forDigit(v >> 4, 16)).append(Character.forDigit(v & 15, 16));
                } else if (v == 0 || v > 127) {
                    text.append('\\').append(v >> 6).append(v >> 3 & 7).append(v & 7);
                } else {
                    text.append(v == '\\' ? "\\\\" : String.valueOf((char) v));
                }
            }
            return text.toString();
        }
    }

    /** (bytes, character set of Java, name of it for messages): a text, or an error for bytes that are none. */
    public static final class Convert implements UDF2 {
        @Override
        public Object call(Object bytes, Object set) {
            if (bytes == null || set == null) {
                return null;
            }
            try {
                return Charset.forName((String) set).newDecoder().onMalformedInput(CodingErrorAction.REPORT)
                        .onUnmappableCharacter(CodingErrorAction.REPORT).decode(ByteBuffer.wrap((byte[]) bytes)).toString();
            } catch (CharacterCodingException bad) {
                throw Failure.of("22021", "invalid byte sequence for encoding \"" + ((String) set).replace("-", "") + "\"");
            }
        }
    }

    /** (text, form): Unicode normalization. */
    public static final class Normalized implements UDF2 {
        @Override
        public Object call(Object text, Object form) {
            return text == null ? null : Normalizer.normalize((String) text, Normalizer.Form.valueOf((String) form));
        }
    }
}
