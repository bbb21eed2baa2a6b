import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * The value of an expression, or NULL if computing it fails.  Spark has this inside its try_… functions and nowhere
 * for us to say; what executors run is Spark's own class.
 */
public final class Attempt extends AbstractFunction1 {
    @Override
    public Object apply(Object arguments) {
        return new TryEval((Expression) ((Seq) arguments).head());
    }
}
