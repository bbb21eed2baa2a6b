import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import scala.None$;
import scala.Option;
import scala.Some;
import scala.Tuple4;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.collection.mutable.ListBuffer;

/**
 * Adds up once.  Spark adds up before a shuffle and after it; where nearly every row is a group of its own, the first
 * costs as much as the second and saves nothing.  A query that says REPARTITION below its GROUP BY means just that, and
 * here is taken at its word: the rows of a group are in one place already, so they are added up there, in one pass.
 * What executors run is Spark's own class.
 */
public final class OnePass extends SparkStrategy {
    @Override
    public Seq apply(LogicalPlan plan) {
        ListBuffer plans = new ListBuffer();
        if (plan instanceof Aggregate && ((Aggregate) plan).child() instanceof RepartitionByExpression) {
            SparkPlan found = planned(plan);
            if (found != null) {
                plans.addOne(found);
            }
        }
        return plans.toList();
    }

    private SparkPlan planned(LogicalPlan plan) {
        Option parts = PhysicalAggregation.unapply(plan);
        if (parts.isEmpty()) {
            return null;
        }
        Tuple4 of = (Tuple4) parts.get();
        Seq groups = (Seq) of._1();
        if (groups.isEmpty()) {
            return null;
        }
        for (Iterator each = groups.iterator(); each.hasNext();) {
            Object group = each.next();
            if (!(group instanceof Attribute) || !isPlain(((Attribute) group).dataType())) {
                return null;
            }
        }
        ListBuffer sums = new ListBuffer();
        ListBuffer results = new ListBuffer();
        for (Iterator each = ((Seq) of._2()).iterator(); each.hasNext();) {
            Object next = each.next();
            if (!(next instanceof AggregateExpression)) {
                return null;
            }
            AggregateExpression sum = (AggregateExpression) next;
            Seq kept = sum.aggregateFunction().aggBufferAttributes();
            if (sum.isDistinct() || !Aggregate.supportsHashAggregate(kept, groups)) {
                return null;
            }
            AggregateExpression whole =
                sum.copy(sum.aggregateFunction(), Complete$.MODULE$, false, sum.filter(), sum.resultId());
            sums.addOne(whole);
            results.addOne(whole.resultAttribute());
        }
        return new HashAggregateExec(
            new Some(groups), false, (Option) None$.MODULE$, groups, sums.toList(), results.toList(), 0,
            (Seq) of._3(), planLater((LogicalPlan) of._4()));
    }

    /** Equal values have equal bytes. */
    private static boolean isPlain(DataType type) {
        return type instanceof AtomicType && !(type instanceof FloatType) && !(type instanceof DoubleType);
    }
}
