"""`python -m benchmarks …`: starts a broker of its own, then runs the command line against it."""

import os
import signal
import sys

from tailrace.testing.broker import Broker


def _main() -> int:
    """Imported only now: the broker's address is a setting."""
    if sys.argv[1:2] == ["sink"]:
        from benchmarks import kafka_sink

        return kafka_sink.main(sys.argv[2:])
    from benchmarks.cli import main

    return main()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing under test outlives the harness
    if sys.argv[1:2] in (["ticks"], ["state"]):  # these need no broker
        from benchmarks import state, ticks

        sys.exit((ticks if sys.argv[1] == "ticks" else state).main(sys.argv[2:]))
    if sys.argv[1:2] == ["targets"]:  # has servers of its own
        from benchmarks import targets

        sys.exit(targets.main(sys.argv[2:]))
    if sys.argv[1:2] == ["sql"]:  # neither: it starts what it asks
        from benchmarks import sql

        sys.exit(sql.main(sys.argv[2:]))
    if "BENCH_BOOTSTRAP" in os.environ or sys.argv[1:2] in (["setup"], ["table"]):
        sys.exit(_main())
    with Broker(heap="1g", jvm_options=("-XX:+UseParallelGC",)) as broker:
        os.environ["BENCH_BOOTSTRAP"] = broker.bootstrap
        if sys.argv[1:2] == ["reading"]:
            from benchmarks import reading

            sys.exit(reading.main(sys.argv[2:]))
        sys.exit(_main())
