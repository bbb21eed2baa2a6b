/** An error of the data, marked as plan/raising.py marks those of generated SQL, so that clients see its SQLSTATE. */
public final class Failure {
    /** Of a class that Spark's driver knows: it could not read one of ours from a task's report. */
    public static RuntimeException of(String sqlstate, String message) {
        return new IllegalArgumentException("TAILRACE<" + sqlstate + ":" + message + ">TAILRACE");
    }
}
