"""The user's own files as a source of rows: where they lie, and Parquet made into what the core reads.

The core reads text (CSV, TSV, MySQL) and Arrow streams. A Parquet file is turned into an Arrow stream before the
run, off the clock, with every column cast to the one Arrow type of its logical type, or refused.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from inrush.border.pipeline import AnyPlan, InputFiles, loads_of
from inrush.border.plan import InputPlan, InputWay, OpPlan, TablePlan
from inrush.errors import CoreError, Problem, UsageError, refuse
from inrush.study.parquet import arrow_type as arrow_type_of
from inrush.study.parquet import damaged, is_texts, plain, texts
from inrush.study.patterns import matching
from inrush.study.units import UNITS, looks_other
from inrush.workload import TYPES, FileSource, Workload

if TYPE_CHECKING:
    import pyarrow as pa


#: What a file system says that takes no more.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
#: How input files come in.
INPUT_WAYS: tuple[InputWay, ...] = get_args(InputWay)


def locate(workload: Workload, workload_file: str) -> Workload:
    """Paths beside the workload file become absolute, patterns the files they match, in order of name.

    Raises UsageError with every path that leads nowhere.
    """
    problems: list[Problem] = []
    tables = dict(workload.tables)
    for name, table in workload.tables.items():
        if table.files is not None:
            paths = tuple(found_paths(table.files, Path(workload_file), name, problems))
            tables[name] = replace(table, files=replace(table.files, paths=paths))
    refuse(problems)
    return replace(workload, tables=tables)


def found_paths(
    source: FileSource, workload_file: Path, table: str, problems: list[Problem]
) -> Iterator[str]:
    for n, text in enumerate(source.paths):
        path = str(workload_file.resolve().parent / Path(text).expanduser())
        try:
            found = matching(path)
            problem = "" if found else f"there is no file {path}"
        except (OSError, UsageError) as error:
            found, problem = [], str(error)
        if problem:
            problems.append(Problem(str(workload_file), f"tables.{table}.files.paths[{n}]", text, problem))
        yield from found


def at_files(plan: AnyPlan, run_folder: Path, cache: Path) -> AnyPlan:
    """The plan with reject files in the run's folder and Parquet files as Arrow streams in `cache`."""
    placed = plan.copy()
    placed["tables"] = [_table_at_files(table, run_folder, cache) for table in plan["tables"]]
    return placed


def at_dumps(plan: AnyPlan, data: Path, run: str) -> AnyPlan:
    """The plan with its dumps below `data`, or in a folder of the run below the one that its study names."""
    placed = plan.copy()
    placed["operations"] = [_operation_at_dumps(op, data, run) for op in plan["operations"]]
    return placed


def at_inputs(plan: AnyPlan, folder: Path, ways: Collection[InputWay] = INPUT_WAYS) -> AnyPlan:
    """The plan with the files that it makes and loads in `folder`: in one of their own, named by the rows that they hold.

    ways: files that come in otherwise stay where they are.
    """
    if not any(segment["kind"] == "inputs" for segment in plan["segments"]):
        return plan
    placed = plan.copy()
    placed["segments"] = [_segment_at_inputs(segment, plan, folder, ways) for segment in plan["segments"]]
    return placed


def input_path(of: InputPlan, file: int) -> Path:
    """Where one of them lies: `path` in rust/rows/src/plan/input.rs."""
    return Path(of["folder"]) / f"{of['name']}-{file:06}.tsv"


#: The role of the watch that has the device below input files, where these have a folder of their own.
INPUT = "input"


def with_inputs_watched(plan: AnyPlan, folder: Path) -> AnyPlan:
    """The plan with the device below the input files that it makes watched beside that of its data."""
    if not made_rows(plan):
        return plan
    placed = plan.copy()
    folders = {**plan["watch"].get("folders", {}), INPUT: str(folder.resolve())}
    placed["watch"] = {**plan["watch"], "folders": folders}
    return placed


def made_rows(plan: AnyPlan) -> dict[tuple[str, bool], tuple[str, int]]:
    """The input files that a plan makes, by their folder and whether they are sorted -> stream of their rows, and how many."""
    found: dict[tuple[str, bool], tuple[str, int]] = {}
    for segment in plan["segments"]:
        whole: Sequence[InputPlan] = ()
        if segment["kind"] == "inputs":
            whole = segment["inputs"]
        elif segment["kind"] == "sort":
            whole = [segment["to"]]
        for one in whole:
            stream = plan["tables"][one["table"]]["stream"]
            found[key_of(one, plan), segment["kind"] == "sort"] = stream, one["rows"]
    for cut in (of["inputs"] for of in loads_of(plan).values()):
        if "dump" not in cut:
            key = key_of_cut(cut, plan["seed"], plan["epoch_ns"])
            found[key, False] = cut["table"]["stream"], cut["rows"]
    return found


def _segment_at_inputs(segment: Any, plan: AnyPlan, folder: Path, ways: Collection[InputWay]) -> Any:
    def located(of: InputPlan) -> InputPlan:
        return {**of, "folder": str(folder.resolve() / key_of(of, plan))} if of["way"] in ways else of

    if segment["kind"] == "inputs":
        return {**segment, "inputs": [located(of) for of in segment["inputs"]]}
    if segment["kind"] == "sort":
        return {**segment, "from": located(segment["from"]), "to": located(segment["to"])}
    if segment["kind"] != "drive":
        return segment
    roles = [
        {**role, "work": {**role["work"], "input": located(role["work"]["input"])}}
        if "input" in role["work"]
        else role
        for role in segment["roles"]
    ]
    return {**segment, "roles": roles}


def key_of(of: InputPlan, plan: AnyPlan) -> str:
    """Equal for runs whose files hold the same rows, whatever the engine and the way in."""
    first = [of["first_row"]] if "first_row" in of else []
    table = plan["tables"][of["table"]]
    return key_of_rows(table, plan["seed"], plan["epoch_ns"], of["rows"], of["files"], *first)


def key_of_cut(of: InputFiles, seed: int, epoch_ns: int) -> str:
    """The same of the loader's files: neither the engine is in it, nor the number of files of a size.

    Of files that a table lies in by itself, their number and sizes are part of its source.
    """
    return key_of_rows(of["table"], seed, epoch_ns, of.get("rows_per_file"))


def key_of_rows(table: TablePlan, seed: int, epoch_ns: int, *cut: int | None) -> str:
    """The name of a folder of files. cut: how the table's rows lie in them."""
    columns = [{k: v for k, v in c.items() if k != "wire"} for c in table["columns"]]
    identity = [table["stream"], columns, table["source"], seed, epoch_ns, *cut]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def _operation_at_dumps(operation: OpPlan, data: Path, run: str) -> OpPlan:
    dump = operation.get("dump")
    if not dump:
        return operation
    folder = Path(dump["folder"]) / run if dump["folder"] else data.absolute() / "dumps"
    return {**operation, "dump": {**dump, "folder": str(folder)}}


def _table_at_files(table: TablePlan, run_folder: Path, cache: Path) -> TablePlan:
    source = table["source"]
    if source["kind"] != "files":
        return table
    source = {**source, "reject_path": str(run_folder.resolve() / Path(source["reject_path"]).name)}
    if source["format"] == "parquet":
        types = {column["name"]: column["type"] for column in table["columns"]}
        streams = [str(arrow_stream(Path(path), types, cache)) for path in source["paths"]]
        source = {**source, "format": "arrow", "paths": streams}
    return {**table, "source": source}


def arrow_stream(parquet: Path, types: Mapping[str, str], cache: Path, exact: Collection[str] = ()) -> Path:
    """The columns named in `types` (name -> logical type) as an Arrow IPC stream; made once for all runs of a study.

    exact: columns whose texts the database reads as numbers of any length. Raises UsageError for a file that is no Parquet, lacks a column, or holds a value that its type cannot.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    stat = parquet.stat()
    key = json.dumps([str(parquet.resolve()), stat.st_size, stat.st_mtime_ns, dict(types)])
    into = cache.resolve() / f"{parquet.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.arrows"
    if into.is_file():
        return into
    cache.mkdir(parents=True, exist_ok=True)
    schema = arrow_schema(types)
    unfinished = into.with_suffix(".part")
    try:
        with pq.ParquetFile(parquet) as file, pa.ipc.new_stream(unfinished, schema) as stream:
            missing = [name for name in types if name not in file.schema_arrow.names]
            if missing:
                has = ", ".join(file.schema_arrow.names)
                raise UsageError(f"{parquet}: no column {', '.join(missing)}; it has {has}")
            read = 0
            for batch in file.iter_batches(columns=list(types)):
                stream.write_batch(cast(batch, schema, types, parquet, exact))
                read += batch.num_rows
            if read != file.metadata.num_rows:
                raise UsageError(damaged(parquet, file.metadata.num_rows, read))
        unfinished.rename(into)
    except (pa.ArrowException, OSError) as e:
        # Both of a file that is damaged and of a disk without room; of the latter only the number says it.
        if isinstance(e, OSError) and (e.errno in NO_ROOM or any(f"errno {n}]" in str(e) for n in NO_ROOM)):
            raise CoreError(
                f"{parquet}: as an Arrow stream it cannot be written to {cache} (no space left); nothing is stored of it. "
                "Make room, or let INRUSH_RESULTS name a folder on a larger disk"
            ) from e
        raise UsageError(f"{parquet}: not readable as Parquet: {e}") from e
    finally:
        unfinished.unlink(missing_ok=True)
    return into


def cast(
    batch: pa.RecordBatch,
    schema: pa.Schema,
    types: Mapping[str, str],
    parquet: Path,
    exact: Collection[str] = (),
) -> pa.RecordBatch:
    """Every column as its field of `schema` says; no integer, time or text changes its value. types, exact: as of `arrow_stream`."""
    import pyarrow as pa

    columns = []
    for field in schema:
        column = plain(batch.column(field.name))
        found = arrow_type_of(parquet, batch.schema.field(field.name))
        if found == "text":
            refuse_damaged(column, field.name, parquet)
        try:
            if "bytes" in (found, types[field.name]) and found != types[field.name]:
                raise pa.ArrowInvalid("bytes go into columns of bytes, and nothing else does")
            refuse_other_kind(column, types[field.name])
            if field.name in exact or holds(types[field.name]) in ("signed", "unsigned"):
                refuse_rounded(column)
            is_made = found == "bytes" or (field.type == pa.string() and is_texts(column.type))
            made = texts(column) if is_made else column.cast(field.type)
            refuse_infinite(column, made)
            columns.append(made)
        except pa.ArrowException as e:
            raise UsageError(
                f"{parquet}: column {field.name} is {column.type} and cannot be {field.type}: {e}"
            ) from e
    return pa.record_batch(columns, schema=schema)


def refuse_other_kind(column: pa.Array, kind: str) -> None:
    """Raises ArrowInvalid for values that Arrow would cast into a type of another kind, where they are other values.

    kind: logical type of the table's column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    types, of, into = pa.types, column.type, holds(kind)
    is_number = types.is_integer(of) or types.is_floating(of) or types.is_decimal(of)
    if into in ("signed", "unsigned", "float") and types.is_temporal(of):
        raise pa.ArrowInvalid("a time is no number; cast it in the file")
    if not is_number or into not in ("truth", "time") or column.null_count == len(column):
        return
    least, greatest = (end.as_py() for end in pc.min_max(column).values())
    if (
        into == "truth"
        and not pc.all(pc.is_in(column.cast(pa.float64()), pa.array([0.0, 1.0, None]))).as_py()
    ):
        raise pa.ArrowInvalid(f"{least if least not in (0, 1) else greatest} is no truth value")
    if into == "time" and types.is_integer(of):
        for value in (least, greatest):
            if likely := looks_other(value, kind):
                unit = UNITS[kind][0]
                raise pa.ArrowInvalid(
                    f"{value} would be {unit} since 1970, and looks like {likely}; cast it in the file"
                )


def holds(kind: str) -> str:
    """What a logical type holds: for a list what its items do."""
    found = TYPES.get(kind.removeprefix("list_"))
    return found.holds if found is not None else ""


def refuse_rounded(column: pa.Array) -> None:
    """Raises ArrowInvalid for floats from which on a whole number may have been rounded to them, as DuckDB writes HUGEINT."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = column.flatten()
    if not pa.types.is_floating(column.type):
        return
    bits = {16: 11, 32: 24, 64: 53}[column.type.bit_width]
    values = column.cast(pa.float64())
    lost = values.filter(pc.and_(pc.greater_equal(pc.abs(values), 2.0**bits), pc.is_finite(values)))
    if len(lost):
        raise pa.ArrowInvalid(
            f"{int(lost[0].as_py())} may be a rounded number, as floats of {column.type.bit_width} bits are from 2^{bits} on; cast it "
            "in the file, for instance to DECIMAL(38, 0)"
        )


def refuse_infinite(column: pa.Array, made: pa.Array) -> None:
    """Raises ArrowInvalid where a finite value has become an infinite one in a type that is too narrow for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(made.type) and pa.types.is_list(column.type):
        refuse_infinite(column.flatten(), made.flatten())
    if not pa.types.is_floating(made.type):
        return
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        was = pc.match_substring(pc.utf8_lower(column), "inf")
    else:
        was = pc.is_inf(column.cast(pa.float64()))
    lost = column.filter(pc.and_(pc.is_inf(made), pc.invert(was)))
    if len(lost):
        raise pa.ArrowInvalid(f"{lost[0].as_py()} would be infinite")


def refuse_damaged(column: pa.Array, name: str, parquet: Path) -> None:
    """Raises UsageError for texts that are not UTF-8 and times beyond a day: Arrow casts them without a word."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowException as e:
        raise UsageError(f"{parquet}: column {name} has a value that is no {column.type}: {e}") from e


def arrow_schema(types: Mapping[str, str]) -> pa.Schema:
    """Twin of `LogicalType::arrow` in rust/rows/src/types.rs."""
    import pyarrow as pa

    return pa.schema([(name, arrow_type(logical)) for name, logical in types.items()])


def arrow_type(logical: str) -> pa.DataType:
    import pyarrow as pa

    if logical == "bytes":  # of `inrush load`: their hexadecimal digits
        return pa.string()
    match (kind := TYPES[logical]).holds:
        case "truth":
            return pa.bool_()
        case "time":
            return pa.timestamp("ms" if kind.of == 1_000 else "us", tz="UTC")
        case "list":
            return pa.list_(arrow_type(str(kind.of)))
        case "signed" | "unsigned" | "float":
            word = {"signed": "int", "unsigned": "uint", "float": "float"}[kind.holds]
            return pa.type_for_alias(f"{word}{kind.of}")
        case _:
            return pa.string()
