import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDDPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.arrow.ArrowConverters;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.StructType;
import scala.None$;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A plan whose code is generated, to be asked again with other rows, by one thread and without a job.
 *
 * It is made to be one task: what would be sent from tasks to tasks is read where it is.  One thread at a time: what
 * Spark's generated code refers to is made for one task.
 */
public final class KeptPlan {
    private static final String TIME_ZONE = "UTC"; // as spark.py says
    private static final String PATH = "tailrace.rows."; // of the table of a place: a property of the task
    private static final long BATCH_ROWS = 10000L;
    private static final Set STEPS = new HashSet(Arrays.asList(new String[] {
        "WholeStageCodegenExec", "InputAdapter", "ProjectExec", "FilterExec", "GenerateExec", "ExpandExec", "UnionExec",
        "SortExec", "WindowExec", "HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec",
        "SortMergeJoinExec", "ShuffledHashJoinExec", "ShuffleExchangeExec", "CoalesceExec",
        "TakeOrderedAndProjectExec", "GlobalLimitExec", "LocalLimitExec", "CollectLimitExec",
    }));

    private final Properties settings = new Properties(); // which a task has with it
    private RDD rows; // of one partition
    private StructType made;

    /** Whether the plan is kept: whether it needs nothing but the RDDs of these ids, each at its place in the list. */
    public boolean keep(SparkPlan plan, List sources) {
        SparkPlan task = oneTask(plan, sources);
        if (task == null) return false;
        Iterator all = plan.session().sessionState().conf().getAllConfs().iterator();
        while (all.hasNext()) {
            Tuple2 setting = (Tuple2) all.next();
            settings.setProperty((String) setting._1(), (String) setting._2());
        }
        rows = task.execute();
        made = plan.schema();
        return rows.getNumPartitions() == 1;
    }

    /** The plan as one task, or null if it is not known how. */
    private static SparkPlan oneTask(SparkPlan step, List sources) {
        if (!step.subqueries().isEmpty()) return null; // each would be a job, before the first row
        for (int i = 0; i < step.expressions().size(); i++) {
            Expression expression = (Expression) step.expressions().apply(i);
            if (varies(expression) || sortsMaps(expression)) return null;
        }
        if (step instanceof LocalTableScanExec) return step;
        if (step instanceof RDDScanExec) {
            RDDScanExec scan = (RDDScanExec) step;
            int place = sources.indexOf(Integer.valueOf(scan.rdd().id()));
            if (place < 0) return null;
            RDD table = new Table(scan.rdd().sparkContext(), PATH + place, scan.schema());
            return new RDDScanExec(scan.output(), table, scan.name(), scan.outputPartitioning(), scan.outputOrdering(), scan.stream());
        }
        if (!STEPS.contains(step.getClass().getSimpleName())) return null;
        List children = new ArrayList();
        for (int i = 0; i < step.children().size(); i++) {
            SparkPlan child = oneTask((SparkPlan) step.children().apply(i), sources);
            if (child == null) return null;
            children.add(child);
        }
        if (step instanceof ShuffleExchangeExec) return new CoalesceExec(1, (SparkPlan) children.get(0));
        SparkPlan made = (SparkPlan) step.withNewChildren((Seq) PythonUtils.toSeq(children));
        return step instanceof UnionExec ? new CoalesceExec(1, made) : made;
    }

    /** Whether maps are made comparable in it: the code that Spark 4.0 generates for that takes a missing value for 0. */
    private static boolean sortsMaps(Expression expression) {
        if (expression.getClass().getSimpleName().equals("MapSort")) return true;
        for (int i = 0; i < expression.children().size(); i++) {
            if (sortsMaps((Expression) expression.children().apply(i))) return true;
        }
        return false;
    }

    /** Whether it may be something else each time; not so an aggregate that depends on the order of its rows. */
    private static boolean varies(Expression expression) {
        if (expression.deterministic()) return false;
        boolean does = !(expression instanceof AggregateFunction);
        for (int i = 0; i < expression.children().size(); i++) {
            Expression child = (Expression) expression.children().apply(i);
            if (varies(child)) return true;
            does = does && child.deterministic();
        }
        return does;
    }

    /**
     * Writes what the plan makes of the tables in the Arrow streams `from` into the file `to`; false, and only part of
     * it, if that is more than `most` bytes.
     */
    public synchronized boolean run(List from, String to, long most) throws Exception {
        Properties properties = (Properties) settings.clone();
        for (int i = 0; i < from.size(); i++) properties.setProperty(PATH + i, (String) from.get(i));
        SparkEnv env = SparkEnv.get();
        long task = -System.nanoTime() - 1; // no other has it
        TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), task);
        TaskContextImpl context = new TaskContextImpl(
            0, 0, 0, task, 0, 1, memory, properties, env.metricsSystem(), new TaskMetrics(), 1, Map$.MODULE$.empty());
        TaskContext before = TaskContext.get();
        TaskContext$.MODULE$.setTaskContext(context);
        try {
            return write(rows.iterator(rows.partitions()[0], context), to, most);
        } finally {
            try {
                context.markTaskCompleted((Option) None$.MODULE$);
            } finally {
                memory.cleanUpAllAllocatedMemory();
                TaskContext$.MODULE$.setTaskContext(before);
            }
        }
    }

    private boolean write(Iterator found, String to, long most) throws Exception {
        ArrowConverters.ArrowBatchWithSchemaIterator packets =
            ArrowConverters$.MODULE$.toBatchWithSchemaIterator(found, made, BATCH_ROWS, 0L, TIME_ZONE, false, false);
        DataOutputStream out = new DataOutputStream(new FileOutputStream(to));
        try {
            while (packets.hasNext()) {
                byte[] packet = (byte[]) packets.next();
                if (out.size() + (long) packet.length > most) return false;
                out.writeInt(packet.length);
                out.write(packet);
            }
            return true;
        } finally {
            packets.close(); // gives Arrow's memory back, also after a row that cannot be computed
            out.close();
        }
    }

    /** The rows of the Arrow stream whose path is a property of the task that asks for them. */
    public static final class Table extends RDD {
        private final String property;
        private final StructType schema;

        public Table(SparkContext context, String property, StructType schema) {
            super(context, (Seq) Nil$.MODULE$, (ClassTag) ClassTag$.MODULE$.apply(InternalRow.class));
            this.property = property;
            this.schema = schema;
        }

        public Partition[] getPartitions() {
            return new Partition[] {new ShuffledRDDPartition(0)};
        }

        public Iterator compute(Partition partition, TaskContext context) {
            String path = context.getLocalProperty(property);
            Iterator given = PythonUtils.toSeq(Arrays.asList(ArrowConverters$.MODULE$.readArrowStreamFromFile(path))).iterator();
            return ArrowConverters$.MODULE$.fromBatchIterator(given, schema, TIME_ZONE, false, false, context);
        }
    }
}
