import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.apache.spark.sql.api.java.UDF2;

/** (number as a double, was it a real): the fewest digits that read back as the same number, as PostgreSQL prints them. */
public final class Floats implements UDF2 {
    @Override
    public Object call(Object number, Object real) {
        return number == null ? null : print(((Double) number).doubleValue(), ((Boolean) real).booleanValue());
    }

    private static String print(double value, boolean real) {
        if (value != value) {
            return "NaN";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "Infinity" : "-Infinity";
        }
        if (value == 0) {
            return 1 / value < 0 ? "-0" : "0";
        }
        String java = real ? Float.toString((float) value) : Double.toString(value);
        BigDecimal digits = new BigDecimal(java).stripTrailingZeros();
        while (digits.precision() > 1) { // before Java 19 there may be a digit too many
            BigDecimal fewer = digits.round(new MathContext(digits.precision() - 1, RoundingMode.HALF_EVEN));
            if (real ? fewer.floatValue() != (float) value : fewer.doubleValue() != value) {
                break;
            }
            digits = fewer.stripTrailingZeros();
        }
        int exponent = digits.precision() - digits.scale() - 1;
        if (exponent >= -4 && exponent < (real ? 6 : 15)) {
            return digits.toPlainString();
        }
        String mantissa = digits.movePointLeft(exponent).toPlainString();
        String size = String.valueOf(Math.abs(exponent));
        return mantissa + (exponent < 0 ? "e-" : "e+") + (size.length() < 2 ? "0" : "") + size;
    }
}
