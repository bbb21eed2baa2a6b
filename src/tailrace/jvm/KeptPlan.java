import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import org.apache.spark.PartitionEvaluatorFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.api.python.PythonRDD$;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.execution.FilterEvaluatorFactory;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.GenerateExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.ProjectEvaluatorFactory;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.arrow.ArrowConverters;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import scala.None$;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;
import scala.util.Right;

/**
 * A compiled plan that makes rows of rows one by one, to be asked again with other rows.
 *
 * One thread at a time: what Spark's generated code refers to is made for one task.
 */
public final class KeptPlan {
    private static final String ONE_ROW = "explode(array(tailrace_json_fields("; // of one
    private static final String TIME_ZONE = "UTC"; // as spark.py says

    private final ArrayList steps = new ArrayList(); // PartitionEvaluatorFactory, the last one first
    private StructType taken;
    private StructType made;

    /** The id of the RDD whose rows the plan reads; -1 if it does anything but make rows of rows, one by one. */
    public int keep(SparkPlan plan, StructType schema) {
        SparkPlan step = plan;
        while (!(step instanceof RDDScanExec)) {
            if (step instanceof WholeStageCodegenExec) {
                steps.add(compiled((WholeStageCodegenExec) step));
                step = input(((WholeStageCodegenExec) step).child());
            } else {
                if (step instanceof ProjectExec) {
                    ProjectExec project = (ProjectExec) step;
                    steps.add(new ProjectEvaluatorFactory((Seq) project.projectList(), project.child().output()));
                } else if (step instanceof FilterExec) {
                    FilterExec filter = (FilterExec) step;
                    SQLMetric passed = filter.longMetric("numOutputRows");
                    steps.add(new FilterEvaluatorFactory(filter.condition(), filter.child().output(), passed));
                }
                step = step instanceof GenerateExec ? null : before(step);
            }
            if (step == null) return -1;
        }
        taken = step.schema();
        made = schema;
        return ((RDDScanExec) step).rdd().id();
    }

    private static WholeStageCodegenEvaluatorFactory compiled(WholeStageCodegenExec stage) {
        Tuple2 code = stage.doCodeGen();
        Object[] references = (Object[]) ((CodegenContext) code._1()).references().toArray(ClassTag$.MODULE$.AnyRef());
        return new WholeStageCodegenEvaluatorFactory(new Right(code._2()), stage.longMetric("pipelineTime"), references);
    }

    /** What a compiled stage reads, or null. */
    private static SparkPlan input(SparkPlan last) {
        SparkPlan step = last;
        while (step != null && !(step instanceof RDDScanExec)) {
            if (step instanceof InputAdapter) return ((InputAdapter) step).child();
            step = before(step);
        }
        return step;
    }

    /** Where a step has its rows from, or null if it does more than make each of one. */
    private static SparkPlan before(SparkPlan step) {
        if (!step.subqueries().isEmpty()) return null; // each would be a job, before the first row
        if (step instanceof ProjectExec) return ((ProjectExec) step).child();
        if (step instanceof FilterExec) return ((FilterExec) step).child();
        if (step instanceof GenerateExec && isOfOne((GenerateExec) step)) return ((GenerateExec) step).child();
        return null;
    }

    private static boolean isOfOne(GenerateExec step) {
        return step.generator().toString().startsWith(ONE_ROW);
    }

    /** What the plan makes of the rows in the Arrow stream `from`, behind what is in the file `to` already. */
    public synchronized void run(String from, String to) throws Exception {
        TaskContext context = TaskContext$.MODULE$.empty();
        try {
            Iterator given = PythonUtils.toSeq(Arrays.asList(ArrowConverters$.MODULE$.readArrowStreamFromFile(from))).iterator();
            Iterator rows = ArrowConverters$.MODULE$.fromBatchIterator(given, taken, TIME_ZONE, false, false, context);
            for (int i = steps.size() - 1; i >= 0; i--) {
                Seq all = (Seq) PythonUtils.toSeq(Collections.singletonList(rows));
                rows = ((PartitionEvaluatorFactory) steps.get(i)).createEvaluator().eval(0, all);
            }
            ArrowConverters.ArrowBatchWithSchemaIterator packets =
                ArrowConverters$.MODULE$.toBatchWithSchemaIterator(rows, made, 0L, 0L, TIME_ZONE, false, false);
            DataOutputStream out = new DataOutputStream(new FileOutputStream(to, true));
            try {
                PythonRDD$.MODULE$.writeIteratorToStream(packets, out);
            } finally {
                packets.close(); // gives Arrow's memory back, also after a row that cannot be computed
                out.close();
            }
        } finally {
            context.markTaskCompleted((Option) None$.MODULE$);
        }
    }
}
