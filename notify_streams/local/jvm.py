"""Engines that run on Java: their options, and the archive of loaded classes that halves their start."""

from pathlib import Path

from .engine import CONFIGS, Engine
from .java import java


class JavaEngine(Engine):
    """With `recording` it writes the archive when it stops; without, it uses the archive if there is one."""

    recording = False

    @property
    def archive(self) -> Path:
        """Beside the jars: it is good for exactly these jars and this Java, which ignores it otherwise."""
        return self.jars.parent / "classes.jsa"

    @property
    def recorded(self) -> Path:
        """Where it is written: other engines may have the old one in memory."""
        return self.archive.with_suffix(".new")

    def command(self, main: str, *options: str, file: bool = True) -> list[str]:
        """A command line that runs the class `main` of the engine's jars; `file` adds its jvm.options."""
        shared = [f"@{CONFIGS / self.name / 'jvm.options'}"] if file else []
        if self.recording and file:
            shared.append(f"-XX:ArchiveClassesAtExit={self.recorded}")
        elif self.archive.exists():
            shared.append(f"-XX:SharedArchiveFile={self.archive}")
        return [java(), *shared, *options, "-cp", f"{self.jars}/*", main]
