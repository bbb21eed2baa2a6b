import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * One text for all spellings of a JSON document: without spaces, names in order and each once (the last counts), numbers
 * exact and without trailing zeros, strings with no escape that is not needed.  Takes the bytes of the text; what is no
 * JSON is given back as it is.
 */
public final class JsonSame implements UDF1 {
    @Override
    public Object call(Object data) {
        if (data == null) {
            return null;
        }
        byte[] b = (byte[]) data;
        try {
            JsonReader reader = new JsonReader(b);
            String text = reader.value();
            return reader.atEnd() ? UTF8String.fromString(text) : UTF8String.fromBytes(b);
        } catch (ArrayIndexOutOfBoundsException noJson) {
            return UTF8String.fromBytes(b);
        }
    }
}

final class JsonReader {
    private final byte[] b;
    private int i = 0;

    JsonReader(byte[] b) {
        this.b = b;
    }

    boolean atEnd() {
        return JsonGrammar.space(b, i) == b.length;
    }

    /** The text of the value that begins here. */
    String value() {
        i = JsonGrammar.space(b, i);
        switch (b[i]) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return JsonString.quoted(string());
            default:
                int from = i;
                i = JsonGrammar.scalar(b, i);
                boolean word = b[from] == 't' || b[from] == 'f' || b[from] == 'n';
                return word ? ascii(from, i) : JsonFields.number(b, from, i).toString();
        }
    }

    private String ascii(int from, int to) {
        return new String(b, from, to - from, StandardCharsets.ISO_8859_1);
    }

    private byte[] string() {
        int from = i + 1;
        i = JsonGrammar.string(b, from);
        return JsonFields.unescaped(b, from, i - 1).getBytes();
    }

    private String array() {
        StringBuilder text = new StringBuilder("[");
        i = JsonGrammar.space(b, i + 1);
        while (b[i] != ']') {
            text.append(text.length() > 1 ? "," : "").append(value());
            next();
        }
        i++;
        return text.append(']').toString();
    }

    private String object() {
        TreeMap members = new TreeMap();
        i = JsonGrammar.space(b, i + 1);
        while (b[i] != '}') {
            String name = JsonString.quoted(string());
            i = JsonGrammar.space(b, i) + 1; // the colon
            members.put(name, value());
            next();
        }
        i++;
        StringBuilder text = new StringBuilder("{");
        for (Iterator each = members.entrySet().iterator(); each.hasNext(); ) {
            Map.Entry member = (Map.Entry) each.next();
            text.append(text.length() > 1 ? "," : "").append(member.getKey()).append(':').append(member.getValue());
        }
        return text.append('}').toString();
    }

    /** To the next member or element, or to the bracket that ends them. */
    private void next() {
        i = JsonGrammar.space(b, i);
        if (b[i] == ',') {
            i = JsonGrammar.space(b, i + 1);
        }
    }
}
