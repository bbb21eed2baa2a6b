import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.unsafe.types.UTF8String;

/** The decimal whose value at a scale is written as one big-endian integer, as text; any number of digits. */
public final class DecimalText implements UDF2 {
    @Override
    public Object call(Object unscaled, Object scale) {
        if (unscaled == null) {
            return null;
        }
        byte[] digits = (byte[]) unscaled;
        BigInteger value = digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits);
        return UTF8String.fromString(new BigDecimal(value, ((Integer) scale).intValue()).toPlainString());
    }
}
