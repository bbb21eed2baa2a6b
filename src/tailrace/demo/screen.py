"""What the audience sees: one screen that tells the story while it happens, or plain lines where there is no screen."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text


@dataclass
class Picture:
    """Everything the screen shows."""

    regions: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # region → pv, uv, messages
    sent: int = 0
    received: int = 0
    engine: str = "starting"
    kills: int = 0
    events: deque[str] = field(default_factory=lambda: deque(maxlen=9))


class Screen:
    """Redraws a few times a second.  Without a terminal, events become lines."""

    def __init__(self) -> None:
        self.picture = Picture()
        self.console = Console()
        self._began = time.monotonic()
        self._live = Live(console=self.console, refresh_per_second=8, get_renderable=self._draw)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def tell(self, event: str) -> None:
        """Something that the audience should notice."""
        line = f"{time.monotonic() - self._began:6.1f}s  {event}"
        self.picture.events.append(line)
        if not self.console.is_terminal:
            self.console.print(line)

    def _draw(self) -> Group:
        picture = self.picture
        table = Table("region", title="pageviews_per_region, as a read_committed consumer sees it", expand=True)
        for column in ("pv", "uv", "messages"):
            table.add_column(column, justify="right")
        for region, counts in sorted(picture.regions.items()):
            table.add_row(region, *(f"{count:,}" for count in counts))
        colour = "green" if picture.engine == "running" else "red"
        state = Text.assemble(
            "engine ", (picture.engine, f"bold {colour}"), f"   killed -9: {picture.kills}",
            f"   pageviews sent: {picture.sent:,}   changes received: {picture.received:,}",
        )  # fmt: skip
        events = Text("\n".join(picture.events) or " ")
        return Group(Panel(state), table, Panel(events, title="what happened"))
