"""The name of a Kafka topic, refused here if no broker would take it."""

from __future__ import annotations

import re

from tailrace.sql.kinds import Text, Unusable
from tailrace.sql.parser import Parser

_LEGAL = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


class TopicName(Text):
    shown = "topic"

    def parse(self, p: Parser) -> str:
        if self.is_next(p) and not _LEGAL.fullmatch(p.token.value):
            raise Unusable("the name of a topic is 1 to 249 letters, digits, dots, underscores and hyphens")
        return super().parse(p)


TOPIC_NAME = TopicName()
