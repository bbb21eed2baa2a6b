// pgjdbc as programs and DBeaver use it: `java -cp postgresql.jar Pgjdbc.java JDBC_URL`.  One line for each claim.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PGInterval;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;

public class Pgjdbc {
  static final String[] MODES = {"", "&prepareThreshold=-1", "&preferQueryMode=simple", "&reWriteBatchedInserts=true"};
  static String url;
  static boolean failed = false;

  interface Claim {
    void hold() throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    url = arguments[0] + "?user=materialize";
    claim("definitions and changes", Pgjdbc::definitionsAndChanges);
    for (String mode : MODES) {
      claim("batches" + mode, () -> batches(mode));
    }
    claim("parameters of every type", () -> parameters(""));
    claim("parameters of every type, in binary", () -> parameters("&prepareThreshold=-1"));
    claim("rows in pieces", Pgjdbc::rowsInPieces);
    claim("subscribe by cursor", Pgjdbc::subscribeByCursor);
    claim("subscribe by portal", Pgjdbc::subscribeByPortal);
    claim("errors", Pgjdbc::errors);
    claim("transactions", Pgjdbc::transactions);
    claim("cancel", Pgjdbc::cancel);
    claim("timeout", Pgjdbc::timeout);
    claim("copy", Pgjdbc::copy);
    claim("metadata", Pgjdbc::metadata);
    System.exit(failed ? 1 : 0);
  }

  static void claim(String name, Claim claim) {
    try {
      long started = System.currentTimeMillis();
      claim.hold();
      System.out.println("ok " + name + ", in " + (System.currentTimeMillis() - started) + " ms");
    } catch (Throwable problem) {
      failed = true;
      System.out.println("not ok " + name);
      problem.printStackTrace(System.out);
    }
  }

  static void equal(Object found, Object wanted) {
    if (!Objects.deepEquals(found, wanted)) {
      throw new AssertionError("found " + shown(found) + ", wanted " + shown(wanted));
    }
  }

  static String shown(Object value) {
    return value instanceof Object[] array ? Arrays.deepToString(array) : String.valueOf(value);
  }

  static Connection connect(String more) throws SQLException {
    return DriverManager.getConnection(url + more);
  }

  static List<List<Object>> rows(ResultSet found) throws SQLException {
    List<List<Object>> rows = new ArrayList<>();
    while (found.next()) {
      List<Object> row = new ArrayList<>();
      for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
        row.add(found.getObject(i));
      }
      rows.add(row);
    }
    return rows;
  }

  static List<List<Object>> ask(Connection connection, String query) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return rows(statement.executeQuery(query));
    }
  }

  static int run(Connection connection, String text) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return statement.executeUpdate(text);
    }
  }

  static void definitionsAndChanges() throws SQLException {
    try (Connection connection = connect("")) {
      run(connection, "CREATE TABLE jdbc_bids (item int NOT NULL, price numeric(38,2), note text, PRIMARY KEY (item))");
      run(connection, "COMMENT ON TABLE jdbc_bids IS 'what people offer'");
      run(connection, "COMMENT ON COLUMN jdbc_bids.note IS 'in their own words'");
      run(connection, "CREATE MATERIALIZED VIEW jdbc_spent AS SELECT count(*) AS n, sum(price) AS total FROM jdbc_bids");
      equal(run(connection, "INSERT INTO jdbc_bids VALUES (1, 12.50, 'first'), (2, 3, NULL)"), 2);
      equal(run(connection, "UPDATE jdbc_bids SET price = price * 2 WHERE item = 2"), 1);
      equal(run(connection, "DELETE FROM jdbc_bids WHERE item > 100"), 0);
      List<List<Object>> found = ask(connection, "SELECT n, total FROM jdbc_spent");
      equal(((BigDecimal) found.get(0).get(1)).compareTo(new BigDecimal("18.5")), 0);
      run(connection, "CREATE TABLE jdbc_gone (a int)");
      run(connection, "DROP TABLE jdbc_gone");
      try (Statement several = connection.createStatement()) {
        several.execute("SELECT 1; SELECT 2 AS two; SELECT 3");
        several.getMoreResults();
        equal(rows(several.getResultSet()), List.of(List.of(2)));
      }
    }
  }

  static PGobject object(String type, String value) throws SQLException {
    PGobject object = new PGobject();
    object.setType(type);
    object.setValue(value);
    return object;
  }

  /** Each value goes as a parameter into a query and into a table, and comes back from both. */
  static void parameters(String mode) throws SQLException {
    OffsetDateTime moment = OffsetDateTime.of(2024, 7, 3, 18, 43, 5, 312_456_000, ZoneOffset.UTC);
    Object[][] values = {
      {"boolean", true, Boolean.class},
      {"smallint", (short) -5, Short.class},
      {"int", Integer.MAX_VALUE, Integer.class},
      {"bigint", Long.MIN_VALUE, Long.class},
      {"real", 1.5f, Float.class},
      {"double precision", 1e300, Double.class},
      {"numeric(38,4)", new BigDecimal("-12345.6789"), BigDecimal.class},
      {"text", "é \"x\" \\ '", String.class},
      {"varchar(10)", "", String.class},
      {"bytea", new byte[] {0, (byte) 0xff}, byte[].class},
      {"date", LocalDate.of(2024, 7, 3), LocalDate.class},
      {"time", LocalTime.of(18, 43, 5, 312_456_000), LocalTime.class},
      {"timestamp", LocalDateTime.of(1999, 12, 31, 23, 59, 59, 1_000), LocalDateTime.class},
      {"timestamptz", moment, OffsetDateTime.class},
      {"interval", new PGInterval(1, 2, 3, 4, 5, 6.5), null},
      {"uuid", new UUID(1, 2), UUID.class},
      {"jsonb", object("jsonb", "{\"a\":[1,null]}"), null},
      {"uint8", object("uint8", "18446744073709551615"), null},
    };
    List<String> columns = new ArrayList<>();
    for (int i = 0; i < values.length; i++) {
      columns.add("c" + i + " " + values[i][0]);
    }
    String table = "jdbc_values" + Math.abs(mode.hashCode());
    try (Connection connection = connect(mode)) {
      run(connection, "CREATE TABLE " + table + " (" + String.join(", ", columns) + ", a int[], b text[])");
      for (int round = 0; round < 2; round++) { // binary, where the mode says so, from the second time on
        for (Object[] value : values) {
          try (PreparedStatement query = connection.prepareStatement("SELECT ?::" + value[0] + ", ?::" + value[0])) {
            query.setObject(1, value[1]);
            query.setNull(2, Types.NULL);
            check(query.executeQuery(), value);
          }
        }
      }
      String marks = "?, ".repeat(values.length + 1) + "?";
      try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (" + marks + ")")) {
        for (int i = 0; i < values.length; i++) {
          insert.setObject(i + 1, values[i][1]);
        }
        insert.setArray(values.length + 1, connection.createArrayOf("int4", new Integer[] {1, null, 3}));
        insert.setArray(values.length + 2, connection.createArrayOf("text", new String[] {"a", null, "x y"}));
        equal(insert.executeUpdate(), 1);
        for (int i = 1; i <= values.length + 2; i++) {
          insert.setObject(i, null);
        }
        equal(insert.executeUpdate(), 1);
      }
      try (Statement query = connection.createStatement();
          ResultSet found = query.executeQuery("SELECT * FROM " + table + " WHERE c0")) {
        found.next();
        for (int i = 0; i < values.length; i++) {
          equal(value(found, i + 1, values[i][2]), values[i][1]);
        }
        equal(found.getArray("a").getArray(), new Integer[] {1, null, 3});
        equal(found.getArray("b").getArray(), new String[] {"a", null, "x y"});
      }
    }
  }

  static void check(ResultSet found, Object[] wanted) throws SQLException {
    found.next();
    equal(value(found, 1, wanted[2]), wanted[1]);
    equal(found.getObject(2), null);
  }

  static Object value(ResultSet found, int column, Object type) throws SQLException {
    return type == null ? found.getObject(column) : found.getObject(column, (Class<?>) type);
  }

  static void batches(String mode) throws SQLException {
    String table = "jdbc_batch" + Math.abs(mode.hashCode());
    try (Connection connection = connect(mode)) {
      run(connection, "CREATE TABLE " + table + " (k int, v text)");
      connection.setAutoCommit(false);
      try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
        for (int k = 0; k < 50; k++) {
          insert.setInt(1, k);
          insert.setString(2, "v" + k);
          insert.addBatch();
        }
        equal(insert.executeBatch().length, 50);
      }
      connection.commit();
      equal(ask(connection, "SELECT count(*), max(k) FROM " + table), List.of(List.of(50L, 49)));
      connection.commit();
    }
  }

  static void rowsInPieces() throws SQLException {
    try (Connection connection = connect("")) {
      connection.setAutoCommit(false);
      try (Statement query = connection.createStatement()) {
        query.setFetchSize(7);
        long sum = 0;
        ResultSet found = query.executeQuery("SELECT n FROM generate_series(1, 100) AS n");
        while (found.next()) {
          sum += found.getLong(1);
        }
        equal(sum, 5050L);
        query.setMaxRows(3);
        equal(rows(query.executeQuery("SELECT n FROM generate_series(1, 100) AS n ORDER BY n")).size(), 3);
      }
      connection.rollback();
    }
  }

  static void subscribeByCursor() throws SQLException {
    try (Connection connection = connect(""); Connection writer = connect("")) {
      run(connection, "CREATE TABLE jdbc_followed (k int)");
      connection.setAutoCommit(false);
      run(connection, "DECLARE c CURSOR FOR SUBSCRIBE jdbc_followed");
      run(writer, "INSERT INTO jdbc_followed VALUES (42)");
      List<List<Object>> found = ask(connection, "FETCH 10 c");
      equal(found.get(0).subList(1, 3), List.of(1L, 42));
      connection.rollback();
    }
  }

  /** Rows of a statement that never ends, one by one as they come. */
  static void subscribeByPortal() throws SQLException {
    try (Connection connection = connect(""); Connection writer = connect("")) {
      connection.setAutoCommit(false);
      try (Statement follow = connection.createStatement()) {
        follow.setFetchSize(1);
        ResultSet found = follow.executeQuery("SUBSCRIBE jdbc_followed");
        found.next();
        equal(found.getInt("k"), 42);
        run(writer, "INSERT INTO jdbc_followed VALUES (43)");
        found.next();
        equal(found.getInt("k"), 43);
      }
      connection.rollback();
      equal(ask(connection, "SELECT 1"), List.of(List.of(1)));
    }
  }

  static void errors() throws SQLException {
    try (Connection connection = connect("")) {
      try {
        ask(connection, "SELECT itm FROM jdbc_bids");
        throw new AssertionError("no error");
      } catch (PSQLException error) {
        equal(error.getSQLState(), "42703");
        equal(error.getServerErrorMessage().getPosition(), 8);
        equal(error.getServerErrorMessage().getHint().contains("item"), true);
      }
      try (PreparedStatement query = connection.prepareStatement("SELECT 1 / ?::int")) {
        query.setInt(1, 0);
        query.executeQuery();
        throw new AssertionError("no error");
      } catch (PSQLException error) {
        equal(error.getSQLState(), "22012");
      }
      equal(ask(connection, "SELECT 1"), List.of(List.of(1)));
    }
  }

  static void transactions() throws SQLException {
    try (Connection connection = connect("")) {
      run(connection, "CREATE TABLE jdbc_block (k int)");
      connection.setAutoCommit(false);
      run(connection, "INSERT INTO jdbc_block VALUES (1)");
      connection.rollback();
      run(connection, "INSERT INTO jdbc_block VALUES (2)");
      connection.commit();
      equal(ask(connection, "SELECT k FROM jdbc_block"), List.of(List.of(2)));
      connection.commit();
      try {
        ask(connection, "SELECT nope");
        throw new AssertionError("no error");
      } catch (SQLException error) {
        equal(error.getSQLState(), "42703");
      }
      try {
        ask(connection, "SELECT 1");
        throw new AssertionError("no error");
      } catch (SQLException error) {
        equal(error.getSQLState(), "25P02");
      }
      connection.rollback();
      connection.setReadOnly(true);
      equal(ask(connection, "SELECT k FROM jdbc_block"), List.of(List.of(2)));
      connection.rollback();
      equal(connection.isValid(5), true);
      connection.getTransactionIsolation();
    }
  }

  static void cancel() throws Exception {
    try (Connection connection = connect(""); Statement follow = connection.createStatement()) {
      Thread canceller = new Thread(() -> {
        try {
          Thread.sleep(500);
          follow.cancel();
        } catch (Exception problem) {
          problem.printStackTrace(System.out);
        }
      });
      canceller.start();
      try {
        follow.executeQuery("SUBSCRIBE jdbc_followed WITH (SNAPSHOT = false)");
        throw new AssertionError("no error");
      } catch (SQLException error) {
        equal(error.getSQLState(), "57014");
      }
      canceller.join();
      equal(ask(connection, "SELECT 1"), List.of(List.of(1)));
    }
  }

  static void timeout() throws SQLException {
    try (Connection connection = connect(""); Statement follow = connection.createStatement()) {
      follow.setQueryTimeout(1);
      try {
        follow.executeQuery("SUBSCRIBE jdbc_followed WITH (SNAPSHOT = false)");
        throw new AssertionError("no error");
      } catch (SQLException error) {
        equal(error.getSQLState(), "57014");
      }
    }
  }

  static void copy() throws Exception {
    try (Connection connection = connect("")) {
      run(connection, "CREATE TABLE jdbc_copied (k int, v text)");
      CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
      equal(copies.copyIn("COPY jdbc_copied FROM STDIN", new StringReader("1\tone\n2\t\\N\n")), 2L);
      StringWriter out = new StringWriter();
      equal(copies.copyOut("COPY (SELECT * FROM jdbc_copied ORDER BY k) TO STDOUT", out), 2L);
      equal(out.toString(), "1\tone\n2\t\\N\n");
    }
  }

  /** What DBeaver and other tools draw their tree from. */
  static void metadata() throws SQLException {
    try (Connection connection = connect("")) {
      DatabaseMetaData about = connection.getMetaData();
      equal(about.getDatabaseProductName(), "PostgreSQL");
      equal(names(about.getTables(null, "public", "jdbc\\_%", new String[] {"TABLE"}), "TABLE_NAME").contains("jdbc_bids"), true);
      equal(
          names(about.getTables(null, "public", "%", new String[] {"MATERIALIZED VIEW"}), "TABLE_NAME").contains("jdbc_spent"),
          true);
      ResultSet columns = about.getColumns(null, "public", "jdbc_bids", "%");
      List<List<Object>> found = new ArrayList<>();
      while (columns.next()) {
        found.add(Arrays.asList(
            columns.getString("COLUMN_NAME"), columns.getInt("DATA_TYPE"), columns.getInt("COLUMN_SIZE"),
            columns.getInt("DECIMAL_DIGITS"), columns.getString("IS_NULLABLE"), columns.getString("REMARKS")));
      }
      equal(found, List.of(
          Arrays.asList("item", Types.INTEGER, 10, 0, "NO", null),
          Arrays.asList("price", Types.NUMERIC, 38, 2, "YES", null),
          Arrays.asList("note", Types.VARCHAR, Integer.MAX_VALUE, 0, "YES", "in their own words")));
      equal(names(about.getSchemas(), "TABLE_SCHEM").containsAll(List.of("public", "mz_catalog", "mz_internal")), true);
      equal(names(about.getCatalogs(), "TABLE_CAT").contains("materialize"), true);
      equal(names(about.getTypeInfo(), "TYPE_NAME").containsAll(List.of("int4", "text", "jsonb", "numeric")), true);
      names(about.getTableTypes(), "TABLE_TYPE");
      equal(names(about.getPrimaryKeys(null, "public", "jdbc_bids"), "COLUMN_NAME"), new TreeSet<>(List.of("item")));
      run(connection, "CREATE INDEX jdbc_note_idx ON jdbc_bids (note)");
      ResultSet indexes = about.getIndexInfo(null, "public", "jdbc_bids", false, false);
      List<List<Object>> indexed = new ArrayList<>();
      while (indexes.next()) {
        indexed.add(Arrays.asList(
            indexes.getString("INDEX_NAME"), indexes.getBoolean("NON_UNIQUE"), indexes.getString("COLUMN_NAME")));
      }
      equal(indexed, List.of(
          Arrays.asList("jdbc_bids_pkey", false, "item"), Arrays.asList("jdbc_note_idx", true, "note")));
      names(about.getImportedKeys(null, "public", "jdbc_bids"), "FKCOLUMN_NAME");
      names(about.getExportedKeys(null, "public", "jdbc_bids"), "FKCOLUMN_NAME");
      names(about.getTablePrivileges(null, "public", "jdbc_bids"), "PRIVILEGE");
      names(about.getColumnPrivileges(null, "public", "jdbc_bids", "%"), "PRIVILEGE");
      equal(names(about.getFunctions(null, null, "substring%"), "FUNCTION_NAME").contains("substring"), true);
      names(about.getProcedures(null, null, "%"), "PROCEDURE_NAME");
      ResultSet best = about.getBestRowIdentifier(null, "public", "jdbc_bids", DatabaseMetaData.bestRowSession, true);
      equal(names(best, "COLUMN_NAME"), new TreeSet<>(List.of("item")));
      names(about.getUDTs(null, "public", "%", null), "TYPE_NAME");
      names(about.getClientInfoProperties(), "NAME");
      about.getSQLKeywords();
      about.getMaxColumnNameLength();
      try (PreparedStatement query = connection.prepareStatement("SELECT item, price FROM jdbc_bids WHERE note = ?")) {
        equal(query.getMetaData().getColumnTypeName(2), "numeric");
        equal(query.getParameterMetaData().getParameterTypeName(1), "text");
      }
    }
  }

  static TreeSet<String> names(ResultSet found, String column) throws SQLException {
    TreeSet<String> names = new TreeSet<>();
    while (found.next()) {
      String name = found.getString(column);
      names.add(name == null ? "" : name);
    }
    return names;
  }
}
