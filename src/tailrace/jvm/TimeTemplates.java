import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.format.TextStyle;
import java.time.Month;
import java.time.temporal.IsoFields;
import java.time.temporal.JulianFields;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.api.java.UDF4;

/** to_char, to_timestamp and to_date: PostgreSQL's templates, {@code YYYY-MM-DD HH24:MI:SS}. */
public final class TimeTemplates {
    private static final Pattern ITEM = Pattern.compile(
            "(FM|fm|TM)?(SSSSS|SSSS|Y,YYY|YYYY|YYY|YY|IYYY|IYY|IY|IDDD|ID|IW|I|HH24|HH12|HH|MI|MM|MS|US|FF[1-6]|SS"
                    + "|A\\.M\\.|P\\.M\\.|AM|PM|B\\.C\\.|A\\.D\\.|BC|AD|MONTH|Month|MON|Mon|DAY|Day|DDD|DD|DY|Dy"
                    + "|WW|W|CC|RM|TZH|TZM|TZ|OF|Q|J|D|Y"
                    + "|sssss|ssss|y,yyy|yyyy|yyy|yy|iyyy|iyy|iy|iddd|id|iw|i|hh24|hh12|hh|mi|mm|ms|us|ff[1-6]|ss"
                    + "|a\\.m\\.|p\\.m\\.|am|pm|b\\.c\\.|a\\.d\\.|bc|ad|month|mon|day|ddd|dd|dy"
                    + "|ww|w|cc|rm|tzh|tzm|tz|of|q|j|d|y)(TH|th)?|\"((?:[^\"\\\\]|\\\\.)*)\"|\\\\.");
    private static final String[] ROMAN = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

    /** The fields of a moment or of an interval. */
    private static final class Fields {
        long year;
        int month;
        long day;
        long hour;
        int minute;
        int second;
        int micro;
        LocalDate date; // none of an interval
        boolean zoned;
    }

    /** (microseconds since 1970, template, has a zone). */
    public static final class Moment implements UDF3 {
        @Override
        public Object call(Object micros, Object template, Object zoned) {
            if (micros == null || template == null) {
                return null;
            }
            Fields f = new Fields();
            long moment = ((Long) micros).longValue();
            f.date = LocalDate.ofEpochDay(Math.floorDiv(moment, Times.DAY));
            f.year = f.date.getYear();
            f.month = f.date.getMonthValue();
            f.day = f.date.getDayOfMonth();
            f.zoned = ((Boolean) zoned).booleanValue();
            clock(f, Math.floorMod(moment, Times.DAY));
            return formatted(f, (String) template);
        }
    }

    /** (months, days, microseconds, template). */
    public static final class Span implements UDF4 {
        @Override
        public Object call(Object months, Object days, Object micros, Object template) {
            if (months == null || template == null) {
                return null;
            }
            Fields f = new Fields();
            f.year = ((Integer) months).intValue() / 12;
            f.month = ((Integer) months).intValue() % 12;
            f.day = ((Integer) days).intValue();
            clock(f, ((Long) micros).longValue());
            return formatted(f, (String) template);
        }
    }

    private static void clock(Fields f, long micros) {
        f.hour = micros / (3600 * Times.SECOND);
        f.minute = (int) (micros / (60 * Times.SECOND) % 60);
        f.second = (int) (micros / Times.SECOND % 60);
        f.micro = (int) (micros % Times.SECOND);
    }

    private static String formatted(Fields f, String template) {
        StringBuilder text = new StringBuilder();
        Matcher item = ITEM.matcher(template);
        int copied = 0;
        while (item.find()) {
            text.append(template, copied, item.start());
            copied = item.end();
            if (item.group(2) == null) {
                String literal = item.group(4) != null ? item.group(4) : item.group().substring(1);
                text.append(literal.replaceAll("\\\\(.)", "$1"));
                continue;
            }
            String value = value(f, item.group(2), item.group(1) != null);
            text.append(value);
            if (item.group(3) != null) {
                String ending = ordinal(value.trim());
                text.append(item.group(3).equals("TH") ? ending.toUpperCase() : ending);
            }
        }
        return text.append(template, copied, template.length()).toString();
    }

    private static String ordinal(String number) {
        int n = Integer.parseInt(number.replaceAll("\\D", ""));
        int last = n % 10;
        boolean teen = n % 100 / 10 == 1;
        return teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
    }

    private static String value(Fields f, String item, boolean bare) {
        String upper = item.toUpperCase();
        boolean morning = Math.floorMod(f.hour, 24L) < 12;
        switch (upper) {
            case "HH24":
                return padded(f.hour, 2, bare);
            case "HH12":
            case "HH":
                return padded(Math.floorMod(f.hour, 12L) == 0 ? 12 : Math.floorMod(f.hour, 12L), 2, bare);
            case "MI":
                return padded(f.minute, 2, bare);
            case "SS":
                return padded(f.second, 2, bare);
            case "SSSS":
            case "SSSSS":
                return String.valueOf(f.hour * 3600 + f.minute * 60 + f.second);
            case "MS":
                return padded(f.micro / 1000, 3, false);
            case "US":
                return padded(f.micro, 6, false);
            case "AM":
            case "PM":
            case "A.M.":
            case "P.M.":
                return cased(morning ? "AM" : "PM", item);
            case "BC":
            case "AD":
            case "B.C.":
            case "A.D.":
                return cased(f.year <= 0 ? "BC" : "AD", item);
            case "YYYY":
                return padded(f.year, 4, bare);
            case "Y,YYY":
                return f.year / 1000 + "," + padded(f.year % 1000, 3, false);
            case "YYY":
                return padded(f.year % 1000, 3, bare);
            case "YY":
                return padded(f.year % 100, 2, bare);
            case "Y":
                return String.valueOf(f.year % 10);
            case "MM":
                return padded(f.month, 2, bare);
            case "DD":
                return padded(f.day, 2, bare);
            default:
                if (upper.startsWith("FF")) {
                    return padded(f.micro, 6, false).substring(0, item.charAt(2) - '0');
                }
                if (f.date == null) {
                    throw Failure.of("22007", "invalid format specification for an interval value");
                }
                return ofDate(f, item, upper, bare);
        }
    }

    private static String ofDate(Fields f, String item, String upper, boolean bare) {
        LocalDate date = f.date;
        DayOfWeek weekday = date.getDayOfWeek();
        int isoYear = date.get(IsoFields.WEEK_BASED_YEAR);
        switch (upper) {
            case "MONTH":
                return named(Month.of(f.month).getDisplayName(TextStyle.FULL, Locale.ENGLISH), item, bare ? 0 : 9);
            case "MON":
                return named(Month.of(f.month).getDisplayName(TextStyle.SHORT, Locale.ENGLISH), item, 0);
            case "DAY":
                return named(weekday.getDisplayName(TextStyle.FULL, Locale.ENGLISH), item, bare ? 0 : 9);
            case "DY":
                return named(weekday.getDisplayName(TextStyle.SHORT, Locale.ENGLISH), item, 0);
            case "DDD":
                return padded(date.getDayOfYear(), 3, bare);
            case "IDDD":
                return padded((date.get(IsoFields.WEEK_OF_WEEK_BASED_YEAR) - 1) * 7 + weekday.getValue(), 3, bare);
            case "D":
                return String.valueOf(weekday.getValue() % 7 + 1);
            case "ID":
                return String.valueOf(weekday.getValue());
            case "W":
                return String.valueOf((date.getDayOfMonth() - 1) / 7 + 1);
            case "WW":
                return padded((date.getDayOfYear() - 1) / 7 + 1, 2, bare);
            case "IW":
                return padded(date.get(IsoFields.WEEK_OF_WEEK_BASED_YEAR), 2, bare);
            case "IYYY":
                return padded(isoYear, 4, bare);
            case "IYY":
                return padded(isoYear % 1000, 3, bare);
            case "IY":
                return padded(isoYear % 100, 2, bare);
            case "I":
                return String.valueOf(isoYear % 10);
            case "CC":
                return padded((f.year + 99) / 100, 2, bare);
            case "Q":
                return String.valueOf((f.month + 2) / 3);
            case "J":
                return String.valueOf(date.getLong(JulianFields.JULIAN_DAY));
            case "RM":
                return named(ROMAN[f.month - 1], item, bare ? 0 : 4);
            case "TZ":
                return !f.zoned ? "" : item.equals("tz") ? "utc" : "UTC";
            case "OF":
                return f.zoned ? "+00" : "";
            case "TZH":
                return f.zoned ? "+00" : "";
            default:
                return f.zoned ? "00" : "";
        }
    }

    private static String padded(long value, int width, boolean bare) {
        String digits = String.valueOf(Math.abs(value));
        String zeros = bare || digits.length() >= width ? "" : "0".repeat(width - digits.length());
        return (value < 0 ? "-" : "") + zeros + digits;
    }

    private static String named(String name, String item, int width) {
        String cased = Character.isLowerCase(item.charAt(0)) ? name.toLowerCase()
                : item.length() > 1 && Character.isLowerCase(item.charAt(1)) ? name : name.toUpperCase();
        return cased.length() >= width ? cased : cased + " ".repeat(width - cased.length());
    }

    private static String cased(String two, String item) {
        String dotted = item.indexOf('.') < 0 ? two : two.charAt(0) + "." + two.charAt(1) + ".";
        return Character.isLowerCase(item.charAt(0)) ? dotted.toLowerCase() : dotted;
    }

    /** (text, template): microseconds since 1970.  What the template does not name is the least it can be. */
    public static final class Read implements UDF2 {
        @Override
        public Object call(Object value, Object template) {
            if (value == null || template == null) {
                return null;
            }
            Reader reader = new Reader((String) value);
            Matcher item = ITEM.matcher((String) template);
            int passed = 0;
            while (item.find()) {
                reader.skip(((String) template).substring(passed, item.start()));
                passed = item.end();
                if (item.group(2) == null) {
                    reader.skip(item.group(4) != null ? item.group(4) : item.group().substring(1));
                } else {
                    boolean digitsFollow = passed < ((String) template).length()
                            && Character.isLetter(((String) template).charAt(passed));
                    reader.take(item.group(2), digitsFollow);
                }
            }
            return Long.valueOf(reader.moment());
        }
    }

    private static final class Reader {
        private final String t;
        private int i = 0;
        private int year = 1;
        private int month = 1;
        private int day = 1;
        private int dayOfYear = 0;
        private long hour = 0;
        private boolean half = false;
        private int afternoon = -1;
        private long minute = 0;
        private long second = 0;
        private long micro = 0;
        private long offset = 0;
        private long julian = -1;

        Reader(String t) {
            this.t = t;
        }

        void skip(String literal) {
            for (int k = 0; k < literal.length() && i < t.length(); k++) {
                char c = literal.charAt(k);
                if (Character.isWhitespace(c)) {
                    while (i < t.length() && Character.isWhitespace(t.charAt(i))) {
                        i++;
                    }
                } else if (!Character.isLetterOrDigit(t.charAt(i)) || t.charAt(i) == c) {
                    i++;
                }
            }
        }

        private String digits(int most, String item) {
            while (i < t.length() && Character.isWhitespace(t.charAt(i))) {
                i++;
            }
            int from = i;
            while (i < t.length() && i - from < most && Character.isDigit(t.charAt(i))) {
                i++;
            }
            if (i == from) {
                throw Failure.of("22007", "invalid value \"" + t.substring(from, Math.min(t.length(), from + most))
                        + "\" for \"" + item + "\"");
            }
            return t.substring(from, i);
        }

        private int number(int most, String item) {
            return Integer.parseInt(digits(most, item));
        }

        private long fraction(int width, String item) {
            String digits = digits(width, item);
            return Long.parseLong(digits + "0".repeat(6 - digits.length()));
        }

        void take(String item, boolean fixed) {
            String upper = item.toUpperCase();
            switch (upper) {
                case "YYYY":
                    year = number(fixed ? 4 : 9, item);
                    break;
                case "YYY":
                    year = 2000 + number(3, item);
                    break;
                case "YY":
                    String digits = digits(fixed ? 2 : 4, item);
                    int two = Integer.parseInt(digits);
                    year = digits.length() > 2 ? two : two < 70 ? 2000 + two : 1900 + two;
                    break;
                case "Y":
                    year = 2020 + number(1, item);
                    break;
                case "MM":
                    month = number(2, item);
                    break;
                case "MONTH":
                case "MON":
                    month = name(upper, item);
                    break;
                case "DAY":
                case "DY":
                    while (i < t.length() && Character.isLetter(t.charAt(i))) {
                        i++;
                    }
                    break;
                case "DD":
                    day = number(2, item);
                    break;
                case "DDD":
                    dayOfYear = number(3, item);
                    break;
                case "J":
                    julian = number(9, item);
                    break;
                case "HH24":
                    hour = number(2, item);
                    break;
                case "HH12":
                case "HH":
                    hour = number(2, item);
                    half = true;
                    break;
                case "MI":
                    minute = number(2, item);
                    break;
                case "SS":
                    second = number(2, item);
                    break;
                case "SSSS":
                case "SSSSS":
                    second = number(5, item);
                    break;
                case "MS":
                    micro = fraction(3, item);
                    break;
                case "US":
                    micro = fraction(6, item);
                    break;
                case "AM":
                case "PM":
                case "A.M.":
                case "P.M.":
                    afternoon = t.regionMatches(true, i, "p", 0, 1) ? 1 : 0;
                    i = Math.min(t.length(), i + upper.length());
                    break;
                case "TZH":
                case "OF":
                    int sign = i < t.length() && t.charAt(i) == '-' ? -1 : 1;
                    i += i < t.length() && (t.charAt(i) == '-' || t.charAt(i) == '+') ? 1 : 0;
                    offset = sign * number(2, item) * 3600L;
                    break;
                default:
                    if (!upper.startsWith("FF")) {
                        throw Failure.of("0A000", "\"" + item + "\" in a template to read by not yet supported");
                    }
                    micro = fraction(item.charAt(2) - '0', item);
            }
        }

        private int name(String upper, String item) {
            int from = i;
            int most = upper.equals("MON") ? 3 : 9;
            while (i < t.length() && i - from < most && Character.isLetter(t.charAt(i))) {
                i++;
            }
            String word = t.substring(from, i).toLowerCase();
            int place = word.length() < 3 ? -1 : Times.MONTHS.indexOf(word.substring(0, 3));
            if (place < 0) {
                throw Failure.of("22007", "invalid value \"" + word + "\" for \"" + item + "\"");
            }
            return place + 1;
        }

        long moment() {
            if (half) {
                if (hour < 1 || hour > 12) {
                    throw Failure.of("22007", "hour \"" + hour + "\" is invalid for the 12-hour clock");
                }
                hour = hour % 12 + (afternoon == 1 ? 12 : 0);
            }
            if (hour > 23 || minute > 59 || (second > 59 && (hour > 0 || minute > 0))) {
                throw Times.outOfRange(t);
            }
            try {
                LocalDate date = julian >= 0 ? LocalDate.MIN.with(JulianFields.JULIAN_DAY, julian)
                        : dayOfYear > 0 ? LocalDate.ofYearDay(year, dayOfYear) : LocalDate.of(year, month, day);
                return Times.micros(date) + ((hour * 60 + minute) * 60 + second - offset) * Times.SECOND + micro;
            } catch (DateTimeException bad) {
                throw Times.outOfRange(t);
            }
        }
    }
}
