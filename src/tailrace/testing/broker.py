"""A real Kafka broker on this machine: one KRaft node, on free ports, its data in a scratch directory.

    with Broker() as broker:
        create_topic(broker.bootstrap, "orders")

It ends with the process that started it, however that ends.  It can be killed and restarted on the same
address and data, which is what fault tests are for.
"""

import base64
import contextlib
import socket
import struct
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not marked as exported
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tailrace.jars import broker_classpath
from tailrace.java import java
from tailrace.testing.certificates import Certificate, make_certificate
from tailrace.testing.ports import free_ports
from tailrace.testing.process import Child, ScratchDirectory

_START_SECONDS = 90.0
_WHO_IS_THERE = struct.pack(">hhihi", 3, 1, 0, -1, 0)  # Metadata, version 1, of no client and no topics
_FENCE_SECONDS = 15.0  # it starts in two; if nobody is fenced by then, the broker had been before
_START_TRIES = 3  # a port found free may be taken before the broker binds it

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    # One node is all replicas.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # The first commit creates these topics: few partitions, short wait.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class BrokerFailed(RuntimeError):
    """The broker did not start; the message ends with its log."""


class Broker:
    """A Kafka broker of our own.  `properties` are added to its server.properties and win over ours.

    `secure`: SSL, SASL_PLAINTEXT or SASL_SSL, for a second listener beside the open one.  Its certificate is also the
    one that it trusts in clients; SASL users are made by `set_password`.
    """

    def __init__(
        self,
        *,
        secure: str | None = None,
        properties: Mapping[str, str] | None = None,
        heap: str = "512m",
        jvm_options: Sequence[str] = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    ) -> None:
        self._properties = dict(properties or {})
        self._secure = secure
        self._secure_port = 0
        self._certificate: Certificate | None = None
        self._jvm_options = (f"-Xmx{heap}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", *jvm_options)
        self._scratch: ScratchDirectory | None = None
        self._child: Child | None = None
        self._port = 0
        self._controller_port = 0

    @property
    def bootstrap(self) -> str:
        """The address clients are given: host:port.  The same after a restart."""
        if not self._port:
            raise BrokerFailed("the broker has not been started")
        return f"127.0.0.1:{self._port}"

    @property
    def secure_bootstrap(self) -> str:
        """The address of the secure listener."""
        if self._secure is None:
            raise BrokerFailed("the broker has no secure listener")
        return f"127.0.0.1:{self._secure_port}"

    @property
    def certificate(self) -> Certificate:
        """Of the secure listener, and of clients that it lets in."""
        assert self._certificate is not None, "the broker has no secure listener, or was not started"
        return self._certificate

    def set_password(self, user: str, password: str) -> None:
        """Lets a user in by SCRAM-SHA-256, with this password and no other."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion(user, credential, password.encode())
        admin.alter_user_scram_credentials([change])[user].result()

    @property
    def pid(self) -> int:
        """The process id of the running broker, for tests that stop or kill it."""
        assert self._child is not None, "the broker does not run"
        return self._child.pid

    @property
    def log(self) -> Path:
        """The file its output goes to."""
        return self._directory / "broker.log"

    def is_running(self) -> bool:
        """Whether its process lives."""
        return self._child is not None and self._child.is_running()

    def start(self) -> Self:
        """Start, and return when it answers.

        The first start chooses ports and formats the data directory.
        """
        if self.is_running():
            return self
        if self._port:
            self._fence()
            self._launch()
            return self
        for attempt in range(1, _START_TRIES + 1):
            self._scratch = ScratchDirectory("tailrace-kafka-")
            self._port, self._controller_port, self._secure_port = free_ports(3)
            try:
                self._write_properties()
                self._format()
                self._launch()
                break
            except BaseException as failure:
                self.stop()
                if attempt == _START_TRIES or "BindException" not in str(failure):
                    raise
        return self

    def kill(self) -> None:
        """kill -9.  Data and address stay for `start`."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def restart(self) -> None:
        """Stop in good order and start again with the same address and data."""
        if self._child is None:
            self.start()
        else:
            self._child.terminate()
            self._launch()

    def stop(self) -> None:
        """End the broker and remove its data.  A later `start` makes a new, empty broker elsewhere."""
        self.kill()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None
        self._port = 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _directory(self) -> Path:
        assert self._scratch is not None, "the broker has not been started"
        return self._scratch.path

    def _write_properties(self) -> None:
        broker, controller = f"127.0.0.1:{self._port}", f"127.0.0.1:{self._controller_port}"
        addresses = {
            "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{broker}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(self._directory / "data"),
        }
        if self._secure is not None:
            addresses["listeners"] += f",SECURE://{self.secure_bootstrap}"
            addresses["advertised.listeners"] += f",SECURE://{self.secure_bootstrap}"
            addresses |= self._security(self._secure)
        properties = {**_PROPERTIES, **addresses, **self._properties}
        _write(self._directory / "server.properties", properties)
        fencing = {
            "process.roles": "controller",
            "listeners": f"CONTROLLER://{controller}",
            "broker.session.timeout.ms": "100",
            "metadata.max.idle.interval.ms": "50",  # an empty record so often
        }
        left_out = ("advertised.listeners", "inter.broker.listener.name")
        kept = {name: value for name, value in properties.items() if name not in left_out}
        _write(self._directory / "fencing.properties", {**kept, **fencing})

    def _security(self, protocol: str) -> dict[str, str]:
        self._certificate = make_certificate(self._directory)
        store = self._directory / "keystore.pem"
        store.write_text(self._certificate.key + self._certificate.certificate)
        return {
            "listener.security.protocol.map": f"{_PROPERTIES['listener.security.protocol.map']},SECURE:{protocol}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._directory / "certificate.pem"),
            "ssl.client.auth": "required" if protocol == "SSL" else "none",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.secure.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }

    def _command(self, main_class: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
        return [str(java()), *self._jvm_options, *options, "-cp", broker_classpath(), main_class, *arguments]

    def _format(self) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")  # no option
        config = str(self._directory / "server.properties")
        command = self._command("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", config)
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode != 0:
            raise BrokerFailed(f"could not format the broker's storage:\n{answer.stdout}{answer.stderr}")

    def _fence(self) -> None:
        """After a kill, let a controller alone notice that the broker is gone, before the broker comes back.

        A node that is both restarts as the leader it was, sends the markers of transactions just committed to
        itself before it listens, loses its old session meanwhile, takes the partitions for deleted, and
        forgets the markers: the transactions stay open for ever.
        """
        options = ("-Dorg.slf4j.simpleLogger.log.org.apache.kafka.controller=info",)
        command = self._command("kafka.Kafka", str(self._directory / "fencing.properties"), options=options)
        log = self._directory / "fencing.log"
        log.unlink(missing_ok=True)
        with Child(command, log=log, directory=self._directory) as controller:
            deadline = time.monotonic() + _FENCE_SECONDS
            while "Fencing broker" not in log.read_text() and time.monotonic() < deadline:
                if not controller.is_running():
                    raise BrokerFailed(f"the broker's controller did not start:\n{controller.output()}")
                time.sleep(0.02)
            for _ in range(2):  # it has said so before it wrote so: two records later it has written
                size = self._metadata_size()
                while self._metadata_size() == size and controller.is_running():
                    time.sleep(0.01)
            controller.terminate()

    def _metadata_size(self) -> int:
        return sum(log.stat().st_size for log in self._directory.glob("data/__cluster_metadata-0/*.log"))

    def _launch(self) -> None:
        command = self._command("kafka.Kafka", str(self._directory / "server.properties"))
        self._child = Child(command, log=self.log, directory=self._directory)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if not self._child.is_running() or time.monotonic() > deadline:
                output = self._child.output()
                self.kill()
                raise BrokerFailed(f"the broker did not start:\n{output}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        """Whether it lists itself as a broker.

        Asked without a client library: one would go on to the address that the broker advertises, where a proxy
        may not serve yet.
        """
        with contextlib.suppress(OSError, struct.error), socket.create_connection(("127.0.0.1", self._port), 1) as peer:
            peer.settimeout(5)
            peer.sendall(struct.pack(">i", len(_WHO_IS_THERE)) + _WHO_IS_THERE)
            with peer.makefile("rb") as answer:
                _size, _correlation, brokers = struct.unpack(">iii", answer.read(12))
            return bool(brokers > 0)
        return False


def _write(file: Path, properties: Mapping[str, str]) -> None:
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
