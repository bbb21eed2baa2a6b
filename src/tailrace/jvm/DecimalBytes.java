import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF3;

/**
 * A decimal as Avro's decimals are written: its value at a scale as one integer, two's complement, big-endian,
 * sign-extended to a fixed number of bytes.  Scales beyond what Spark's own decimals hold are why this is not SQL.
 */
public final class DecimalBytes implements UDF3 {
    @Override
    public Object call(Object value, Object scale, Object size) {
        if (value == null) {
            return null;
        }
        BigDecimal scaled = ((BigDecimal) value).setScale(((Integer) scale).intValue(), RoundingMode.UNNECESSARY);
        byte[] shortest = scaled.unscaledValue().toByteArray();
        byte[] full = new byte[((Integer) size).intValue()];
        int before = full.length - shortest.length;
        if (shortest[0] < 0) {
            Arrays.fill(full, 0, before, (byte) -1);
        }
        System.arraycopy(shortest, 0, full, before, shortest.length);
        return full;
    }
}
