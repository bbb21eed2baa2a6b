import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.api.java.UDF2;

/** to_char and to_number of numbers: PostgreSQL's templates, {@code FM999,990.00}. */
public final class NumberTemplates {
    /** A template taken apart. */
    private static final class Form {
        String items = ""; // 9, 0, comma, point: in order; others are copied and marked by a \1 before them
        boolean bare;
        char sign = ' '; // S leading, s trailing, M (MI) trailing, m leading, P (PR), or none
        boolean roman;
        String ending = "";
        int whole;
        int fraction;
        boolean point;
        int firstZero = -1; // place of the first 0 among the digits of the whole number
        boolean exponent;
    }

    private static Form form(String template) {
        Form f = new Form();
        StringBuilder items = new StringBuilder();
        for (int i = 0; i < template.length(); ) {
            String rest = template.substring(i);
            String upper = rest.toUpperCase();
            char c = upper.charAt(0);
            if (rest.charAt(0) == '"') {
                int end = rest.indexOf('"', 1);
                end = end < 0 ? rest.length() : end;
                for (int k = 1; k < end; k++) {
                    items.append('\1').append(rest.charAt(k));
                }
                i += end + 1;
            } else if (upper.startsWith("FM")) {
                f.bare = true;
                i += 2;
            } else if (upper.startsWith("EEEE")) {
                f.exponent = true;
                i += 4;
            } else if (upper.startsWith("MI")) {
                f.sign = items.indexOf("9") < 0 && items.indexOf("0") < 0 ? 'm' : 'M';
                i += 2;
            } else if (upper.startsWith("PR")) {
                f.sign = 'P';
                i += 2;
            } else if (upper.startsWith("RN")) {
                f.roman = true;
                i += 2;
            } else if (upper.startsWith("TH")) {
                f.ending = rest.substring(0, 2);
                i += 2;
            } else if (c == 'S') {
                f.sign = items.indexOf("9") < 0 && items.indexOf("0") < 0 ? 'S' : 's';
                i++;
            } else if (c == '9' || c == '0') {
                if (f.point) {
                    f.fraction++;
                } else {
                    f.firstZero = c == '0' && f.firstZero < 0 ? f.whole : f.firstZero;
                    f.whole++;
                }
                items.append(c);
                i++;
            } else if (c == '.' || c == 'D') {
                if (f.point) {
                    throw Failure.of("42601", "multiple decimal points");
                }
                f.point = true;
                items.append('.');
                i++;
            } else if (c == ',' || c == 'G') {
                items.append(',');
                i++;
            } else if (c == 'L') {
                items.append(f.bare ? "" : "\1 ");
                i++;
            } else if (c == 'V' || upper.startsWith("PL") || upper.startsWith("SG")) {
                throw Failure.of("0A000", "\"" + rest.charAt(0) + "\" in a number's template not yet supported");
            } else {
                items.append('\1').append(rest.charAt(0));
                i++;
            }
        }
        f.items = items.toString();
        return f;
    }

    /** (number as text, template). */
    public static final class Print implements UDF2 {
        @Override
        public Object call(Object number, Object template) {
            if (number == null || template == null) {
                return null;
            }
            Form f = form((String) template);
            String given = (String) number;
            if (given.equals("NaN") || given.endsWith("Infinity")) {
                return given.equals("NaN") ? " NaN" : given;
            }
            BigDecimal value = new BigDecimal(given);
            if (f.roman) {
                return roman(value, f.bare);
            }
            if (f.exponent) {
                return exponent(value, f);
            }
            BigDecimal rounded = value.setScale(f.fraction, RoundingMode.HALF_UP);
            boolean negative = value.signum() < 0 && rounded.signum() != 0;
            String digits = rounded.abs().toPlainString();
            int dot = digits.indexOf('.');
            String whole = dot < 0 ? digits : digits.substring(0, dot);
            String fraction = dot < 0 ? "" : digits.substring(dot + 1);
            whole = whole.equals("0") ? "" : whole;
            boolean fits = whole.length() <= f.whole;
            return dressed(body(f, whole, fraction, fits), f, negative, fits ? ordinal(digits, f) : "");
        }

        /** The digits in their places; before the first one that counts, blanks. */
        private static String body(Form f, String whole, String fraction, boolean fits) {
            StringBuilder text = new StringBuilder();
            int zerosFrom = f.firstZero < 0 ? f.whole : f.firstZero;
            int first = Math.min(f.whole - whole.length(), zerosFrom);
            if (!fits) {
                first = 0;
            }
            boolean nothing = whole.isEmpty() && f.firstZero < 0; // "0" is shown only where the template has a 0
            int place = 0;
            int behind = 0;
            boolean point = false;
            int keep = fraction.length();
            if (f.bare) {
                int zeros = f.items.lastIndexOf('0');
                int dotAt = f.items.indexOf('.');
                int must = 0;
                for (int k = dotAt + 1; dotAt >= 0 && k <= zeros; k++) {
                    must += f.items.charAt(k) == '0' || f.items.charAt(k) == '9' ? 1 : 0;
                }
                while (keep > must && fraction.charAt(keep - 1) == '0') {
                    keep--;
                }
            }
            for (int k = 0; k < f.items.length(); k++) {
                char c = f.items.charAt(k);
                if (c == '\1') {
                    text.append(f.items.charAt(++k));
                } else if (c == '.') {
                    point = true;
                    if (nothing && f.fraction == 0) {
                        text.append("");
                    }
                    text.append('.');
                } else if (c == ',') {
                    text.append(place > first || (place == first && place > 0 && first < place) ? "," : f.bare ? "" : " ");
                } else if (!point) {
                    if (!fits) {
                        text.append('#');
                    } else if (place < first) {
                        boolean last = place == f.whole - 1 && !f.point;
                        text.append(last && whole.isEmpty() ? "0" : f.bare ? "" : " ");
                    } else {
                        int from = place - (f.whole - whole.length());
                        text.append(from < 0 ? '0' : whole.charAt(from));
                    }
                    place++;
                } else {
                    text.append(!fits ? "#" : behind < keep ? String.valueOf(fraction.charAt(behind)) : "");
                    behind++;
                }
            }
            return text.toString();
        }

        private static String dressed(String body, Form f, boolean negative, String ending) {
            int start = 0;
            while (start < body.length() && body.charAt(start) == ' ') {
                start++;
            }
            String blanks = body.substring(0, start);
            String digits = body.substring(start) + ending;
            switch (f.sign) {
                case 'S':
                    return blanks + (negative ? "-" : "+") + digits;
                case 's':
                    return body + ending + (negative ? "-" : "+");
                case 'M':
                    return body + ending + (negative ? "-" : f.bare ? "" : " ");
                case 'm':
                    return (negative ? "-" : f.bare ? "" : " ") + body + ending;
                case 'P':
                    return negative ? blanks + "<" + digits + ">" : f.bare ? digits : " " + blanks + digits + " ";
                default:
                    return blanks + (negative ? "-" : f.bare ? "" : " ") + digits;
            }
        }

        private static String ordinal(String digits, Form f) {
            if (f.ending.isEmpty() || digits.indexOf('.') >= 0) {
                return "";
            }
            int two = Integer.parseInt(digits.substring(Math.max(0, digits.length() - 2)));
            int last = two % 10;
            String ending = two / 10 == 1 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
            return f.ending.equals("TH") ? ending.toUpperCase() : ending;
        }

        private static String exponent(BigDecimal value, Form f) {
            int power = value.signum() == 0 ? 0 : value.precision() - value.scale() - 1;
            BigDecimal mantissa = value.movePointLeft(power).setScale(f.fraction, RoundingMode.HALF_UP);
            String sign = power < 0 ? "-" : "+";
            String digits = String.valueOf(Math.abs(power));
            return (value.signum() < 0 ? "" : f.bare ? "" : " ") + mantissa.toPlainString() + "e" + sign
                    + (digits.length() < 2 ? "0" : "") + digits;
        }

        private static String roman(BigDecimal value, boolean bare) {
            int n = value.setScale(0, RoundingMode.HALF_UP).intValue();
            if (n < 1 || n > 3999) {
                return "###############";
            }
            String[] signs = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};
            int[] sizes = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
            StringBuilder text = new StringBuilder();
            for (int k = 0; k < sizes.length; k++) {
                while (n >= sizes[k]) {
                    text.append(signs[k]);
                    n -= sizes[k];
                }
            }
            return bare ? text.toString() : " ".repeat(15 - text.length()) + text;
        }
    }

    /** (text, template): the number in it, as text. */
    public static final class Read implements UDF2 {
        @Override
        public Object call(Object value, Object template) {
            if (value == null || template == null) {
                return null;
            }
            Form f = form((String) template);
            String text = (String) value;
            boolean negative = text.indexOf('-') >= 0 || (f.sign == 'P' && text.indexOf('<') >= 0);
            StringBuilder digits = new StringBuilder();
            int room = f.whole;
            boolean point = false;
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (Character.isDigit(c) && room > 0) {
                    digits.append(c);
                    room--;
                } else if (c == '.' && f.point && !point) {
                    point = true;
                    room = f.fraction;
                    digits.append('.');
                }
            }
            String found = digits.toString();
            if (found.isEmpty() || found.equals(".")) {
                throw Failure.of("22P02", "invalid input syntax for type numeric: \"" + text + "\"");
            }
            return (negative ? "-" : "") + found;
        }
    }
}
