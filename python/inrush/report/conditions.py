"""What figures were measured under: engines and their settings, and the machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from inrush.analysis.points import Analysis, Measured
from inrush.analysis.run_facts import is_embedded, promised
from inrush.report.html import table
from inrush.stats import quantity


def settings(analysis: Analysis) -> str:
    """Per engine and storage: version, what an acknowledged row survives, and the settings that were read back."""
    rows, lists = [], []
    for engine, m in first_of_each_place(analysis).items():
        held = {str(r["name"]): str(r["value"]) for r in m.run.rows("settings")}
        version = version_of(held)
        durable = promised(m.run)
        rows.append(
            [
                escape(engine),
                escape(version),
                escape(durable),
                escape(connection_of(m)),
                escape(target_of(m)),
            ]
        )
        if held:
            lines = "".join(
                f"<tr><td>{escape(k)}</td><td><code>{escape(v)}</code></td></tr>"
                for k, v in sorted(held.items())
            )
            lists.append(
                f'<details><summary>{len(held)} settings of {escape(engine)}</summary><div class="scroll"><table>{lines}</table></div></details>'
            )
    return (
        table(["engine", "version", "an acknowledged row survives", "TLS", "target"], rows) + "".join(lists)
        if rows
        else ""
    )


def target_of(m: Measured) -> str:
    """Where it ran; an embedded engine has a file for each run."""
    return (
        "in our process, a new file for each run"
        if is_embedded(m.run)
        else str(m.run.plan["target"].get("url", ""))
    )


def connection_of(m: Measured) -> str:
    """How it was encrypted."""
    return "no connection" if is_embedded(m.run) else str(m.run.summary.get("tls") or "not recorded")


def version_of(settings: Mapping[str, str]) -> str:
    """The engine's own word, else the first setting that is called a version and looks like one."""
    named = [v for k, v in settings.items() if "version" in k.lower() and any(c.isdigit() for c in v)]
    return settings.get("version") or next(iter(named), "not recorded")


def first_of_each_place(analysis: Analysis) -> dict[str, Measured]:
    latest: dict[str, Measured] = {}
    for m in analysis.runs:
        latest.setdefault(m.run.place, m)
    return latest


def machine(analysis: Analysis) -> str:
    if not analysis.runs:
        return ""
    facts = facts_by_engine(analysis)
    first = ("cpu_model", "cpu_logical", "mem_total_bytes", "os", "kernel", "data_filesystem", "disk_write_bytes_per_s",
             "disk_fsync_per_s", "input_dir", "input_filesystem", "input_device", "core_build_profile", "inrush", "git_commit", "python")  # fmt: skip
    shown = [[escape(k), facts[k]] for k in first if k in facts]
    others = [[escape(k), v] for k, v in sorted(facts.items()) if k not in first]
    more = (
        f"<details><summary>{len(others)} more facts</summary>{table(['fact', 'value'], others)}</details>"
        if others
        else ""
    )
    return table(["fact", "value"], shown) + more


#: Facts of the disk below an engine's files.
OF_A_PLACE = ("data_dir", "data_filesystem", "data_mount_options", "data_device")


def facts_by_engine(analysis: Analysis) -> dict[str, str]:
    """Fact -> its value; where engines lie on several disks, each value with the engines and storages that it is of."""
    held = {engine: m.run.env for engine, m in first_of_each_place(analysis).items()}
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for env in held.values() for key in env):
        engines: dict[str, list[str]] = {}
        for engine, env in held.items():
            if key in env:
                engines.setdefault(fact(key, env[key]), []).append(engine)
        if key in OF_A_PLACE:  # a study of several goes may have had several, which its guard says
            for m in analysis.runs:
                named = engines.setdefault(fact(key, m.run.env[key]), []) if key in m.run.env else []
                named += [] if m.run.place in named else [m.run.place]
        of_all = len(engines) == 1 and all(key in env for env in held.values())
        found[key] = ", ".join(
            value if of_all else f"{value} ({escape(', '.join(named))})" for value, named in engines.items()
        )
    return found


def fact(key: str, value: Any) -> str:
    """A fact of the machine as people read it; lists of packages in a line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{escape(str(k))}&nbsp;{escape(str(v))}" for k, v in value.items())
    if isinstance(value, float | int) and not isinstance(value, bool) and key.endswith(("bytes", "_per_s")):
        figure = "bytes" if key.endswith("bytes") else "bytes_per_s" if key.endswith("bytes_per_s") else ""
        return escape(quantity.show(value, figure) if figure else f"{quantity.digits(value)} /s")
    return f"<code>{escape(str(value))}</code>"
