"""One point of a pipeline study: its input files, both ends of the load, its shards, and what proves it. Pure.

The plan is that of a run with one load, which is over shards (`rust/load/src` has its ends). Tables, operations and segments
stand in it as in other plans, for readers of results; what acts on shards is a pause to the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from inrush.border import plan as border
from inrush.border.labels import PointLabels
from inrush.border.load import ClientPlan, ImportPlan, LedgerPlan, ServerPlan, ShardPlan
from inrush.border.pipeline import (
    InputFiles,
    LoadingPointPlan,
    LoadPlace,
    LoadSegment,
    Pipelines,
    PipelineShard,
    ShardCopy,
    StepEnds,
)
from inrush.border.statement import statement
from inrush.engines import ENGINES, known_twin
from inrush.engines.base.loading import Loading
from inrush.engines.base.plans import OpPlan, TablePlan, Unsupported
from inrush.engines.base.twin import Twin
from inrush.plan import ends
from inrush.plan.documents import operation_document, source_document, stored_table
from inrush.plan.ledger import create_statement, ledger_statements, replica_load, rows_in_ledger
from inrush.plan.pipeline_numbers import PipelineNumbers, contradiction, numbers_of
from inrush.plan.planned_point import PointPlan, document
from inrush.plan.single_role import single_role
from inrush.plan.units import ns
from inrush.plan.work import Lasts, Work
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain, rows_of
from inrush.study.pipeline import KIND, ROLE, Ends, Pipeline
from inrush.workload import Column, Operation, Table

#: Up to so many rows of a single shard are read back whole; beyond, and over several shards, sums prove them.
PIPELINE_READ_BACK_ROWS = 1_000_000
#: What both ends call this import; the address of a run is its own namespace, so that no two share a ledger.
IMPORT = "pipeline"
#: Of the pauses before a load, of it, and behind it: what `inrush.load.pipeline` does there.
READY, LOAD, STORED = "ready_to_load", "load_files", "stored"
#: The key's type in the database, by what it means: names that the placement knows.
KEY_TYPES = {"i16": "smallint", "i32": "integer", "i64": "bigint", "text": "text"}


def loadable() -> list[str]:
    """Engines that `inrush load` fills: those of which a twin knows the tables of others."""
    return [name for name in ENGINES if (twin := known_twin(name)) and twin.loading is not None]


def wanted(of: Pipeline[Plain], table: Table) -> PipelineNumbers:
    files = table.chunks.files if table.chunks is not None else 1
    return numbers_of(
        of,
        files=files if of.files is None else rows_of(of.files, of.pipelines),
        file_bytes=of.file_bytes,
        rows_per_file=max(1, round(of.file_bytes / of.row_bytes)),
        shards=of.shards,
        replica=of.replica,
        client_hosts=of.client_hosts,
    )


def plan_pipeline(
    study: StudyAt[Plain],
    server: Twin,
    engine: str,
    namespace: str,
    method: str,
    seed: int,
) -> PointPlan | Unsupported:
    of = study.pipeline
    assert of is not None, "a study of this kind was parsed with its section"
    if server.loading is None:
        return Unsupported(f"{engine}: the loader keeps its ledger in {', '.join(loadable())}")
    table = study.workload.tables[of.table]
    at = wanted(of, table)
    reason = contradiction(at, server)
    if reason:
        return Unsupported(reason)
    layout = study.layout if study.layout in table.layouts else "none"
    shards = [
        shard(server, server.loading, table, layout, name, at)
        for name in ([namespace] if at.shards == 1 else [f"{namespace}_{k}" for k in range(at.shards)])
    ]
    first = shards[0]["table"]
    table_plan: border.TablePlan = {**first, "source": source_document(table, None, at.rows)}
    insert = Operation(f"load/{table.name}", "insert", table=table.name)
    operation = operation_document(insert, {table.name: 0}, OpPlan("", method), [])
    plan = document(study, engine, seed, [table_plan], [operation], ())
    load_server = server_document(study, server, table, at, plan["target"], method, shards)
    if isinstance(load_server, Unsupported):
        return load_server
    load: StepEnds = {
        "inputs": input_files(table, at, table_plan, of.cold_inputs, at.rows),
        "pipelines": pipelines_document(of, at),
        "client": client_document(of, at),
        "load_server": load_server,
        "shards": shards,
    }
    driven: LoadingPointPlan = {
        **plan, "segments": segments(study, shards, at, table.name), "loads": {ROLE: load},
    }  # fmt: skip
    return summary(driven, at, of, namespace, method, layout, study.schedule.limit_s)


def input_files(
    table: Table, at: PipelineNumbers, planned: border.TablePlan, cold: bool, rows: int, dump: str = ""
) -> InputFiles:
    """The table's own files where it lies in some, else equal ones of which the last may have fewer rows; or those of a dump."""
    found: InputFiles = {"files": at.files, "table": planned, "cold": cold, "folder": "", "rows": rows}
    if dump:
        found["dump"] = dump
    if dump or table.chunks is None:
        found["rows_per_file"] = at.rows_per_file
    return found


def shard(
    server: Twin, loading: Loading, table: Table, layout: str, namespace: str, at: PipelineNumbers
) -> PipelineShard:
    """What is made, proven and dropped on one shard; its address is filled in where it runs."""
    planned = server.plan_table(table, layout, namespace)
    ledger = ledger_table(server, namespace)
    held = () if server.namespace_holds_tables else (*planned.drop, *ledger.drop)
    drop = [*held, *server.drop_namespace(namespace)]
    probes = server.probes([planned])
    copy = None if not at.replica else server.plan_table(copy_of(table), layout, namespace)
    if copy is not None and not server.namespace_holds_tables:
        drop = [*copy.drop, *drop]
    found: PipelineShard = {
        "namespace": namespace,
        "create": [
            *(() if server.embedded else drop),
            *server.open_namespace(namespace),
            *planned.create,
            *(() if copy is None else copy.create),
            create_statement(loading, ledger.name),
        ],
        "drop": drop,
        "table": stored_table(table, planned),
        "ledger": ledger_statements(IMPORT, ledger.name),
        "rows_in_ledger": rows_in_ledger(IMPORT, ledger.name),
        "proof": proof_of(server, table, planned, at),
        "settings": [*probes.settings, *([probes.version] if probes.version else [])],
        "sizes": list(probes.sizes),
    }
    if copy is not None:
        load = replica_load(IMPORT)
        found["replica"] = {
            # Its rows are those of the table.
            "table": {**stored_table(copy_of(table), copy), "stream": table.name},
            "ledger": ledger_statements(load, ledger.name),
            "rows_in_ledger": rows_in_ledger(load, ledger.name),
            "proof": proof_of(server, copy_of(table), copy, at),
        }
    return found


def ledger_table(server: Twin, namespace: str) -> TablePlan:
    """The table beside the rows that the loader writes its chunks into."""
    return server.plan_table(
        Table("load_ledger", (Column("load_id", "text"),), layouts={"none": ()}), "none", namespace
    )


def copy_of(table: Table) -> Table:
    """Of the same columns, and the rows of the shard before: as `inrush load --replica` names it."""
    return replace(table, name=f"{table.name}_replica")


def proof_of(server: Twin, table: Table, planned: TablePlan, at: PipelineNumbers) -> border.ProofPlan:
    proof = server.proof(table, planned)
    return {
        "table": 0,
        "first_row": 0,
        "rows": at.rows,
        "screen": statement(proof.checksum_query, proof.checksum_directives),
        "items": list(proof.items),
        "read_back": proof.read_back if at.shards == 1 and at.rows <= PIPELINE_READ_BACK_ROWS else "",
    }


def server_document(
    study: StudyAt[Plain],
    server: Twin,
    table: Table,
    at: PipelineNumbers,
    target: border.Target,
    method: str,
    shards: Sequence[LoadPlace],
    import_id: str = IMPORT,
    patience_s: float | None = None,
) -> ServerPlan | Unsupported:
    """Without token and addresses. patience_s: how long a shard may be away; None: as long as the load may last."""
    patience_s = study.schedule.limit_s if patience_s is None else patience_s
    into = Into(server, at, target, method, import_id, patience_s)
    found = [into.end(f"shard {k}", of["namespace"], table, of["ledger"]) for k, of in enumerate(shards)]
    copies = [
        into.end(
            f"the replica of shard {k} on shard {on}", beside["namespace"], copy_of(table), copy["ledger"]
        )
        for k in range(len(shards))
        if (copy := copy_on(beside := shards[on := (k + 1) % len(shards)])) is not None
    ]
    for end in (*found, *copies):
        if isinstance(end, Unsupported):
            return end
    kinds = {c.name: KEY_TYPES.get(c.type, c.type) for c in table.columns}
    load: ImportPlan = {
        "import": import_id,
        "key": [[name, kinds[name]] for name in table.identity],
        "shards": [end for end in found if not isinstance(end, Unsupported)],
    }
    if copies:
        load["replicas"] = [end for end in copies if not isinstance(end, Unsupported)]
    document: ServerPlan = {"role": "server", "listen": "127.0.0.1:0", "token": "", "load": load}
    if at.hash_threads:
        document["hash_threads"] = at.hash_threads
    return document


def copy_on(of: LoadPlace | PipelineShard) -> ShardCopy | None:
    return cast("ShardCopy | None", of.get("replica"))


@dataclass(frozen=True)
class Into:
    """What is the same for all tables that a load server fills."""

    server: Twin
    at: PipelineNumbers
    target: border.Target
    method: str
    import_id: str
    #: How long a shard may be away.
    patience_s: float

    def end(self, name: str, namespace: str, table: Table, ledger: LedgerPlan) -> ShardPlan | Unsupported:
        at, planned = self.at, self.server.plan_table(table, "none", namespace)
        operation = Operation("insert", "insert", table=table.name)
        insert = self.server.plan_operation(operation, self.method, {table.name: planned}, at.flush_rows)
        if isinstance(insert, Unsupported):
            return insert
        wanted = ends.Wanted(
            table=table, target_table=planned.name, key={}, method=self.method, import_id=self.import_id, files=(),
            chunk_rows=at.chunk_rows, flush_rows=at.flush_rows, connections=at.connections, parallel=at.pipelines,
            reject_limit=0, patience_s=self.patience_s, shard_rows_per_s=at.shard_rows_per_s or None,
        )  # fmt: skip
        return ends.shard_document(
            wanted, name, ends.shard_plan(wanted, planned, insert, self.target), ledger, {}
        )


def pipelines_document(of: Ends[Plain], at: PipelineNumbers) -> Pipelines:
    hosts: Pipelines = cast("Pipelines", {"client_hosts": at.client_hosts} if at.client_hosts > 1 else {})
    if isinstance(of, Pipeline) and (of.load_server_on or of.clients_on):
        hosts["on"] = (of.load_server_on, *of.clients_on)
    return {
        **hosts,
        "count": at.pipelines,
        "client": of.client,
        "process_per_file": at.process_per_file,
        "load_server_cores": at.load_server_cores,
        # What limits the load on purpose: capacities that a prediction gets.
        "device_bytes_per_s": at.device_bytes_per_s,
        "pipeline_bytes_per_s": at.pipeline_bytes_per_s,
        "shard_rows_per_s": at.shard_rows_per_s * at.connections,
    }


def client_document(of: Ends[Plain], at: PipelineNumbers, import_id: str = IMPORT) -> ClientPlan:
    """Without token, address and files. A client of its own reads for one pipeline."""
    alone = at.process_per_file or of.client == "own"
    return {
        "role": "client",
        "link": ends.link_plan("", ""),
        "import": import_id,
        "files": [],
        "parallel": 1 if alone else at.pipelines,
        "chunk_rows": at.chunk_rows,
        "reject_limit": 0,
        "bytes_per_s": float(at.device_bytes_per_s) or None,
        "reader_bytes_per_s": float(at.pipeline_bytes_per_s) or None,
        "file_by_file": True,
    }


def segments(
    study: StudyAt[Plain], shards: Sequence[PipelineShard], at: PipelineNumbers, stream: str
) -> list[border.Segment | LoadSegment]:
    """Proofs, and what is asked of settings and sizes, stand with the shards."""
    limit_ns = ns(study.schedule.limit_s)
    role = single_role(ROLE, f"load/{stream}", {"kind": "calls", "count": at.files}, at.pipelines)
    load = load_segment("measure", role, limit_ns, sample_of(study, ()))
    drop = [s for shard in shards for s in shard["drop"]]
    ready, stored = pauses(ROLE)
    return [
        {"kind": "control", "label": "create", "statements": [s for of in shards for s in of["create"]], "limit_ns": limit_ns},
        ready,
        load,
        stored,
        {"kind": "proof", "label": "proof", "proofs": []},
        {"kind": "control", "label": "drop", "statements": drop, "limit_ns": limit_ns},
    ]  # fmt: skip


def load_segment(
    label: str, role: border.RolePlan, limit_ns: int, sample: border.SamplePlan | None
) -> LoadSegment:
    load: LoadSegment = {
        "kind": "load", "label": label, "phase": "measure", "roles": [role], "limit_ns": limit_ns,
    }  # fmt: skip
    if sample is not None:
        load["sample"] = sample
    return load


def sample_of(study: StudyAt[Plain], sizes: Sequence[border.Statement]) -> border.SamplePlan | None:
    """Sizes while a load goes on, where the study asks for them."""
    if study.record.sizes_s is None:
        return None
    every_ns = ns(study.record.sizes_s)
    return {"every_ns": every_ns, "probes": [{"into": "sizes", "statement": text} for text in sizes]}


def pauses(role: str) -> tuple[border.PauseSegment, border.PauseSegment]:
    """The ends of a load are started outside of it, and end outside of it."""
    return (
        {"kind": "pause", "label": "ready", "action": f"{READY}:{role}"},
        {"kind": "pause", "label": "stored", "action": f"{STORED}:{role}"},
    )


def work(at: PipelineNumbers) -> Work:
    """Files through the loader; what the study throttles gives it a schedule."""
    size, throttled = at.files * at.file_bytes, []
    if at.device_bytes_per_s:
        throttled.append(size / at.device_bytes_per_s)
    if at.pipeline_bytes_per_s:
        throttled.append(size / at.pipeline_bytes_per_s / at.pipelines)
    if at.shard_rows_per_s:
        throttled.append(at.rows / (at.shard_rows_per_s * at.connections) / at.shards)
    parallel = at.pipelines * at.connections
    return Work(
        ROLE, at.rows, at.rows / at.chunk_rows, parallel, size / at.rows, max(throttled, default=None)
    )


def summary(
    plan: LoadingPointPlan,
    at: PipelineNumbers,
    of: Pipeline[Plain],
    namespace: str,
    method: str,
    layout: str,
    limit_s: float,
) -> PointPlan:
    notes = []
    if at.rows > PIPELINE_READ_BACK_ROWS or at.shards > 1:
        notes.append("rows are proven by ledger, counts and sums over all shards, and not read back")
    labels: PointLabels = {
        "kind": KIND,
        "method": method,
        "layout": layout,
        "options": dict(plan["target"]["options"]),
        "rows": at.rows,
        "batch_rows": {ROLE: at.chunk_rows},
        "sessions": {ROLE: at.pipelines},
        "notes": notes,
        "oracle": None,
    }
    return PointPlan(
        plan=plan,
        labels=labels,
        namespace=namespace,
        streams=(of.table,),
        rows=at.rows,
        written_rows=at.rows * (2 if at.replica else 1),
        batch_rows=at.chunk_rows,
        bytes=at.files * at.file_bytes * (2 if at.replica else 1),
        fixed_s=0.0,
        lasts=Lasts(
            work=(work(at),),
            limit_s=limit_s,
            proven_rows=at.rows if at.rows <= PIPELINE_READ_BACK_ROWS else 0,
        ),
        notes=tuple(notes),
    )
