import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF2;

/** Reading dates, times and intervals as PostgreSQL reads them.  Moments are microseconds since 1970. */
public final class Times {
    public static final long SECOND = 1000000L;
    public static final long DAY = 86400L * SECOND;
    public static final List MONTHS = Arrays.asList(
            "jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec".split(","));
    private static final List DAYS = Arrays.asList("mon,tue,wed,thu,fri,sat,sun".split(","));

    private static final Pattern QUICK = Pattern.compile(
            "(\\d{4})-(\\d\\d)-(\\d\\d)(?:[ T](\\d\\d):(\\d\\d):(\\d\\d)(?:\\.(\\d{1,6}))?)?");
    private static final Pattern WITHOUT_COLONS =
            Pattern.compile("^(\\s*\\d{4}-?\\d\\d-?\\d\\d)[tT ](\\d\\d)(\\d\\d)(\\d\\d)(?!\\d)");
    private static final Pattern TOKEN = Pattern.compile(
            "\\s*(?:,\\s*)?(?:"
                    + "(?<time>\\d{1,2}:\\d{1,2}(?::\\d{1,2}(?:\\.\\d*)?)?)"
                    + "|(?<ymd>\\d{4,6}[-/.]\\d{1,2}[-/.]\\d{1,2})(?=$|[^\\d])[tT]?"
                    + "|(?<mdy>\\d{1,2}[-/.]\\d{1,2}[-/.]\\d{2,4})"
                    + "|(?<named>\\d{1,4}-[a-zA-Z]{3,9}-\\d{1,4})"
                    + "|(?<zone>[+-]\\d{1,2}(?::?\\d{2})?(?::\\d{2})?(?!\\d))"
                    + "|(?<compact>\\d{8})[tT]?"
                    + "|(?<number>\\d{1,4}(?:st|nd|rd|th)?)(?![\\d:])"
                    + "|(?<region>[a-zA-Z]+/[a-zA-Z_/+-]+\\d*)"
                    + "|(?<word>[a-zA-Z]+)\\.?"
                    + ")\\s*");

    /** What was found in a text; -1 is nothing. */
    private static final class Found {
        int year = -1;
        int month = -1;
        int day = -1;
        long micros = -1;
        boolean before = false; // Christ
        ZoneId zone = null;
    }

    static RuntimeException invalid(String kind, String text) {
        return Failure.of("22007", "invalid input syntax for type " + kind + ": \"" + text + "\"");
    }

    public static RuntimeException outOfRange(String text) {
        return Failure.of("22008", "date/time field value out of range: \"" + text + "\"");
    }

    public static long micros(LocalDate date) {
        return date.toEpochDay() * DAY;
    }

    /** (text, type): a date, timestamp or timestamptz; of a date only the day counts. */
    public static final class Moment implements UDF2 {
        @Override
        public Object call(Object value, Object type) {
            if (value == null) {
                return null;
            }
            String text = (String) value;
            String kind = (String) type;
            try {
                Matcher quick = QUICK.matcher(text);
                if (quick.matches()) {
                    long date = micros(LocalDate.of(n(quick.group(1)), n(quick.group(2)), n(quick.group(3))));
                    boolean clock = quick.group(4) != null && !kind.equals("date");
                    return Long.valueOf(clock ? date + clock(quick, text) : date);
                }
                return Long.valueOf(moment(text, kind));
            } catch (DateTimeException bad) {
                throw outOfRange(text);
            }
        }

        private static long clock(Matcher quick, String text) {
            String fraction = quick.group(7) == null ? "" : quick.group(7);
            return clockMicros(n(quick.group(4)), n(quick.group(5)), n(quick.group(6)), fraction, text);
        }

        private static long moment(String text, String kind) {
            if (text.trim().equalsIgnoreCase("epoch")) {
                return 0;
            }
            if (text.trim().matches("(?i)[+-]?inf(inity)?")) {
                throw Failure.of("0A000", "infinite values of type " + kind + " not supported");
            }
            Found found = found(text, kind);
            if (found.year < 0 || found.month < 0 || found.day < 0) {
                throw invalid(kind, text);
            }
            int year = found.before ? 1 - found.year : found.year;
            if (year < 1 || year > 9999 || (found.before && found.year == 0)) {
                throw outOfRange(text);
            }
            long date = micros(LocalDate.of(year, found.month, found.day));
            if (kind.equals("date")) {
                return date;
            }
            long local = date + Math.max(found.micros, 0);
            return found.zone != null && kind.equals("timestamp with time zone") ? utc(local, found.zone) : local;
        }
    }

    static long utc(long local, ZoneId zone) {
        LocalDateTime time = LocalDateTime.ofEpochSecond(Math.floorDiv(local, SECOND), 0, ZoneOffset.UTC);
        return local - time.atZone(zone).getOffset().getTotalSeconds() * SECOND;
    }

    /** (text): the microseconds of the day. */
    public static final class Clock implements UDF1 {
        @Override
        public Object call(Object value) {
            if (value == null) {
                return null;
            }
            Found found = found((String) value, "time");
            if (found.micros < 0) {
                throw invalid("time", (String) value);
            }
            return Long.valueOf(found.micros);
        }
    }

    private static int n(String digits) {
        return Integer.parseInt(digits);
    }

    private static Found found(String text, String kind) {
        Found found = new Found();
        String spelt = WITHOUT_COLONS.matcher(text).replaceFirst("$1T$2:$3:$4");
        Matcher token = TOKEN.matcher(spelt);
        int place = 0;
        while (place < spelt.length()) {
            token.region(place, spelt.length());
            if (!token.lookingAt()) {
                throw invalid(kind, text);
            }
            take(token, found, text, kind);
            place = token.end();
        }
        return found;
    }

    private static void take(Matcher token, Found found, String text, String kind) {
        if (token.group("time") != null) {
            String[] parts = token.group("time").split("[:.]", -1);
            String seconds = parts.length > 2 ? parts[2] : "0";
            found.micros = clockMicros(n(parts[0]), n(parts[1]), n(seconds), parts.length > 3 ? parts[3] : "", text);
        } else if (token.group("ymd") != null) {
            String[] parts = token.group("ymd").split("[-/.]");
            date(found, n(parts[0]), n(parts[1]), n(parts[2]), text, kind);
        } else if (token.group("mdy") != null) {
            String[] parts = token.group("mdy").split("[-/.]");
            int year = parts[2].length() > 2 ? n(parts[2]) : century(n(parts[2]));
            date(found, year, n(parts[0]), n(parts[1]), text, kind);
        } else if (token.group("named") != null) {
            String[] parts = token.group("named").split("-");
            boolean yearFirst = parts[0].length() > 2;
            int year = n(yearFirst ? parts[0] : parts[2]);
            year = parts[yearFirst ? 0 : 2].length() > 2 ? year : century(year);
            date(found, year, month(parts[1], text, kind), n(yearFirst ? parts[2] : parts[0]), text, kind);
        } else if (token.group("compact") != null) {
            String digits = token.group("compact");
            date(found, n(digits.substring(0, 4)), n(digits.substring(4, 6)), n(digits.substring(6)), text, kind);
        } else if (token.group("zone") != null) {
            if (found.micros < 0) {
                throw invalid(kind, text);
            }
            found.zone = offset(token.group("zone"), text);
        } else if (token.group("number") != null) {
            number(found, token.group("number").replaceAll("[a-z]", ""), text, kind);
        } else if (token.group("region") != null) {
            found.zone = zone(token.group("region"));
        } else {
            word(found, token.group("word").toLowerCase(), text, kind);
        }
    }

    private static void number(Found found, String digits, String text, String kind) {
        if (found.day < 0 && digits.length() <= 2) {
            found.day = n(digits);
        } else if (found.year < 0) {
            found.year = digits.length() > 2 ? n(digits) : century(n(digits));
        } else {
            throw invalid(kind, text);
        }
    }

    private static void word(Found found, String word, String text, String kind) {
        String three = word.length() >= 3 ? word.substring(0, 3) : word;
        if (word.equals("am") || word.equals("pm")) {
            long hour = found.micros / (3600 * SECOND);
            if (found.micros < 0 || hour > 12) {
                throw outOfRange(text);
            }
            found.micros += (word.equals("pm") ? (hour < 12 ? 12 : 0) : hour == 12 ? -12 : 0) * 3600 * SECOND;
        } else if (word.equals("bc") || word.equals("ad")) {
            found.before = word.equals("bc");
        } else if (MONTHS.contains(three) && isName(word)) {
            found.month = MONTHS.indexOf(three) + 1;
        } else if (word.equals("t") && found.micros < 0) {
            return; // between a date and a time
        } else if (!(DAYS.contains(three) && isName(word))) {
            if (found.micros < 0) {
                throw invalid(kind, text);
            }
            try {
                found.zone = zone(word);
            } catch (IllegalArgumentException unknown) {
                throw invalid(kind, text);
            }
        }
    }

    private static final List LONG_NAMES = Arrays.asList(("january,february,march,april,may,june,july,august,september,"
            + "october,november,december,monday,tuesday,wednesday,thursday,friday,saturday,sunday,sept,tues,wednes,thur,"
            + "thurs").split(","));

    private static boolean isName(String word) {
        return word.length() == 3 || LONG_NAMES.contains(word);
    }

    private static int month(String word, String text, String kind) {
        int place = MONTHS.indexOf(word.substring(0, 3).toLowerCase());
        if (place < 0) {
            throw invalid(kind, text);
        }
        return place + 1;
    }

    private static int century(int year) {
        return year < 70 ? 2000 + year : 1900 + year;
    }

    private static void date(Found found, int year, int month, int day, String text, String kind) {
        if (found.year >= 0) {
            throw invalid(kind, text);
        }
        found.year = year;
        found.month = month;
        found.day = day;
    }

    static long clockMicros(int hour, int minute, int second, String fraction, String text) {
        BigDecimal part = fraction.isEmpty() ? BigDecimal.ZERO : new BigDecimal("0." + fraction).movePointRight(6);
        long micros = ((hour * 60L + minute) * 60 + second) * SECOND + part.setScale(0, RoundingMode.HALF_EVEN).longValue();
        if (hour > 24 || minute > 59 || second > 60 || micros > DAY) {
            throw outOfRange(text);
        }
        return micros;
    }

    private static ZoneId offset(String text, String whole) {
        String digits = text.substring(1).replace(":", "");
        int hours = n(digits.length() > 2 ? digits.substring(0, digits.length() - (digits.length() > 4 ? 4 : 2)) : digits);
        int minutes = digits.length() > 4 ? n(digits.substring(2, 4)) : digits.length() > 2 ? n(digits.substring(digits.length() - 2)) : 0;
        if (hours > 15 || minutes > 59) {
            throw Failure.of("22009", "time zone displacement out of range: \"" + whole + "\"");
        }
        int seconds = hours * 3600 + minutes * 60;
        return ZoneOffset.ofTotalSeconds(text.charAt(0) == '-' ? -seconds : seconds);
    }

    static ZoneId zone(String name) {
        String upper = name.toUpperCase();
        if (upper.equals("Z") || upper.equals("UTC") || upper.equals("GMT") || upper.equals("ZULU")) {
            return ZoneOffset.UTC;
        }
        String offsets = "EST-5 EDT-4 CST-6 CDT-5 MST-7 MDT-6 PST-8 PDT-7 BST+1 CET+1 CEST+2 EET+2 EEST+3 MSK+3 JST+9 ";
        int known = offsets.indexOf(upper + (offsets.contains(upper + "-") ? "-" : "+"));
        if (known >= 0 && (known == 0 || offsets.charAt(known - 1) == ' ')) {
            return ZoneOffset.ofHours(n(offsets.substring(known + upper.length(), known + upper.length() + 2)));
        }
        try {
            return ZoneId.of(name, ZoneId.SHORT_IDS);
        } catch (DateTimeException unknown) {
            for (Iterator each = ZoneId.getAvailableZoneIds().iterator(); each.hasNext(); ) {
                String id = (String) each.next();
                if (id.equalsIgnoreCase(name)) {
                    return ZoneId.of(id);
                }
            }
            throw Failure.of("22023", "time zone \"" + name + "\" not recognized");
        }
    }

    /** (name): a zone's name as Java has it.  A bare offset counts westwards, as POSIX has it. */
    public static final class Zone implements UDF1 {
        @Override
        public Object call(Object value) {
            if (value == null) {
                return null;
            }
            String name = (String) value;
            if (name.matches("[+-]?\\d{1,2}(:\\d\\d)?")) {
                ZoneOffset west = (ZoneOffset) offset(name.startsWith("+") || name.startsWith("-") ? name : "+" + name, name);
                return ZoneOffset.ofTotalSeconds(-west.getTotalSeconds()).getId().replace("Z", "UTC");
            }
            return zone(name).getId().replaceAll("^Z$", "UTC");
        }
    }

    // Intervals.

    private static final List UNITS = Arrays.asList(("microsecond,millisecond,second,minute,hour,day,week,month,year,decade,"
            + "century,millennium").split(","));
    private static final long[][] SIZES = {
        {0, 0, 1}, {0, 0, 1000}, {0, 0, SECOND}, {0, 0, 60 * SECOND}, {0, 0, 3600 * SECOND}, {0, 1, 0}, {0, 7, 0}, {1, 0, 0},
        {12, 0, 0}, {120, 0, 0}, {1200, 0, 0}, {12000, 0, 0}
    };
    private static final String SHORT = " us=microsecond usec=microsecond usecs=microsecond ms=millisecond msec=millisecond"
            + " msecs=millisecond s=second sec=second secs=second m=minute min=minute mins=minute h=hour hr=hour hrs=hour d=day"
            + " w=week mon=month mons=month y=year yr=year yrs=year dec=decade decs=decade c=century cent=century"
            + " centuries=century millennia=millennium mil=millennium mils=millennium ";
    private static final Pattern PART = Pattern.compile(
            "\\s*(?:(?<sign>[+-]?)(?<hour>\\d+):(?<minute>\\d{1,2})(?::(?<second>\\d{1,2}(?:\\.\\d*)?))?"
                    + "|(?<years>[+-]?\\d+)-(?<months>\\d+)"
                    + "|(?<amount>[+-]?\\d*\\.?\\d+(?:[eE][+-]?\\d+)?)\\s*(?<unit>[a-zA-Z]*))\\s*");
    private static final Pattern ISO = Pattern.compile(
            "P(?:(-?[\\d.]+)Y)?(?:(-?[\\d.]+)M)?(?:(-?[\\d.]+)W)?(?:(-?[\\d.]+)D)?"
                    + "(?:T(?:(-?[\\d.]+)H)?(?:(-?[\\d.]+)M)?(?:(-?[\\d.]+)S)?)?");
    private static final int[] ISO_UNITS = {8, 7, 6, 5, 4, 3, 2};

    /** (text): months, days and microseconds. */
    public static final class Span implements UDF1 {
        @Override
        public Object call(Object value) {
            if (value == null) {
                return null;
            }
            String text = (String) value;
            String body = text.trim();
            long[] total = {0, 0, 0};
            try {
                Matcher iso = ISO.matcher(body);
                if (body.length() > 1 && iso.matches()) {
                    for (int k = 0; k < ISO_UNITS.length; k++) {
                        if (iso.group(k + 1) != null) {
                            add(total, new BigDecimal(iso.group(k + 1)), ISO_UNITS[k]);
                        }
                    }
                } else {
                    read(body, text, total);
                }
                return RowFactory.create(new Object[] {
                    Integer.valueOf(Math.toIntExact(total[0])), Integer.valueOf(Math.toIntExact(total[1])), Long.valueOf(total[2])
                });
            } catch (ArithmeticException large) {
                throw Failure.of("22015", "interval field value out of range: \"" + text + "\"");
            }
        }

        private static void read(String given, String text, long[] total) {
            boolean ago = given.toLowerCase().endsWith("ago");
            String body = (ago ? given.substring(0, given.length() - 3) : given).replaceFirst("^@\\s*", "").trim();
            if (body.isEmpty()) {
                throw invalid("interval", text);
            }
            Matcher part = PART.matcher(body);
            int place = 0;
            while (place < body.length()) {
                part.region(place, body.length());
                if (!part.lookingAt()) {
                    throw invalid("interval", text);
                }
                place = part.end();
                if (part.group("hour") != null) {
                    BigDecimal seconds = new BigDecimal(part.group("second") == null ? "0" : part.group("second"));
                    long micros = Math.addExact(Math.multiplyExact(Long.parseLong(part.group("hour")), 3600 * SECOND),
                            n(part.group("minute")) * 60 * SECOND
                                    + seconds.movePointRight(6).setScale(0, RoundingMode.HALF_EVEN).longValueExact());
                    total[2] = Math.addExact(total[2], part.group("sign").equals("-") ? -micros : micros);
                } else if (part.group("years") != null) {
                    int sign = part.group("years").startsWith("-") ? -1 : 1;
                    add(total, new BigDecimal(part.group("years")), 8);
                    add(total, new BigDecimal(part.group("months")).multiply(BigDecimal.valueOf(sign)), 7);
                } else {
                    String unit = part.group("unit");
                    int known = unit.isEmpty() ? (place < body.length() ? 5 : 2) : unit(unit.toLowerCase(), text);
                    add(total, new BigDecimal(part.group("amount")), known);
                }
            }
            for (int k = 0; ago && k < 3; k++) {
                total[k] = -total[k];
            }
        }

        private static int unit(String word, String text) {
            int place = SHORT.indexOf(" " + word + "=");
            String name = place < 0 ? word
                    : SHORT.substring(place + word.length() + 2, SHORT.indexOf(' ', place + 1));
            int known = UNITS.indexOf(name.endsWith("s") ? name.substring(0, name.length() - 1) : name);
            if (known < 0) {
                throw invalid("interval", text);
            }
            return known;
        }

        /** A fraction of a month spills into days (30 a month), one of a day into microseconds. */
        private static void add(long[] total, BigDecimal amount, int unit) {
            BigDecimal months = amount.multiply(BigDecimal.valueOf(SIZES[unit][0]));
            BigDecimal whole = months.setScale(0, RoundingMode.DOWN);
            BigDecimal days = amount.multiply(BigDecimal.valueOf(SIZES[unit][1]));
            days = days.add(months.subtract(whole).multiply(BigDecimal.valueOf(30)));
            BigDecimal wholeDays = days.setScale(0, RoundingMode.DOWN);
            BigDecimal micros = amount.multiply(BigDecimal.valueOf(SIZES[unit][2]));
            micros = micros.add(days.subtract(wholeDays).multiply(BigDecimal.valueOf(DAY)));
            total[0] = Math.addExact(total[0], whole.longValueExact());
            total[1] = Math.addExact(total[1], wholeDays.longValueExact());
            total[2] = Math.addExact(total[2], micros.setScale(0, RoundingMode.HALF_EVEN).longValueExact());
        }
    }

    /** (later, earlier): the difference in years, months, days and time, as a calendar shows it. */
    public static final class Age implements UDF2 {
        @Override
        public Object call(Object later, Object earlier) {
            if (later == null || earlier == null) {
                return null;
            }
            long one = ((Long) later).longValue();
            long other = ((Long) earlier).longValue();
            boolean negative = one < other;
            LocalDate a = LocalDate.ofEpochDay(Math.floorDiv(negative ? other : one, DAY));
            LocalDate b = LocalDate.ofEpochDay(Math.floorDiv(negative ? one : other, DAY));
            long micros = Math.floorMod(negative ? other : one, DAY) - Math.floorMod(negative ? one : other, DAY);
            int months = (a.getYear() - b.getYear()) * 12 + a.getMonthValue() - b.getMonthValue();
            int days = a.getDayOfMonth() - b.getDayOfMonth();
            if (micros < 0) {
                micros += DAY;
                days--;
            }
            if (days < 0) {
                days += b.lengthOfMonth();
                months--;
            }
            int sign = negative ? -1 : 1;
            return RowFactory.create(new Object[] {
                Integer.valueOf(sign * months), Integer.valueOf(sign * days), Long.valueOf(sign * micros)
            });
        }
    }
}
